"""Why one engine and not another: a team's decision tree, walked with what is stated and what was measured.

`decision` reads the tree, `facts` what the team states, `claims` what the lab's runs may say, `path` walks, `flips`
asks what would change the end. Nothing here is a sentence, and nothing adds up to a score.
"""
