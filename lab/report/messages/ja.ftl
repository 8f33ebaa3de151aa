### レポートと `lab engines` の日本語。キーは en.ftl と同じです。

language-name = 日本語
language-switch = このページの別の言語版
skip = 本文へ移動
contents = このページの内容
title = どの推論エンジンを使うか。その根拠は何か。
site-name = エンジン検証ラボ
weeks = 計測週：{ $weeks }
weeks-none = まだ計測していません
week-days = { $week }（{ DATETIME($first, dateStyle: "long") }～{ DATETIME($last, dateStyle: "long") }）
span-s = { $n } 秒
span-min = { $n } 分
span-h = { $n } 時間
list-separator = { "、" }

## 環境ラベルと注意書き

grade = 環境ラベル
grade-harness-check = harness-check
grade-real-gpu = real-gpu
grade-imported = imported
grade-synthetic = synthetic
grade-reason-no-gpu-seen = このマシンに GPU は見つかりませんでした。
grade-reason-engine-not-seen-on-gpu = GPU はありましたが、エンジン自身のプロセスがそこで計算していることを確認できませんでした。
grade-reason-attached-elsewhere = エンジンには URL で接続しました。動いているホストの中をラボは確認できません。ここに示すマシンは負荷を送った側です。
grade-reason-nvml = 計測中、エンジン自身のプロセスが GPU で計算していることを NVML で確認しました。
grade-reason-generated = プログラムが生成した数字です。何も計測していません。
grade-reason-imported = 他者が計測した数字です。ここで再計測するまで imported のままです。
banner-harness-check = この数字から性能について主張することはできません。起動からレポートまでのパイプラインが動くことだけを確かめた記録です。
banner-synthetic = 説明のために生成した数字です。どのエンジンのものでもありません。P、Q、R、S は仮の名前です。
banner-imported = 他者が計測した数字です。ここで再計測するまで、意思決定の根拠にはなりません。

## 最初の画面

answer = この回の答え
answer-empty = まだ何も計測していないため、エンジンは選んでいません。先に必要なのは、モデル系列・エンジン・workload を固定した計画と、その 1 回の実行です。
answer-none = 比較表の 4 つはここでは計測していないため、エンジンは選んでいません。列を埋めるには、NVIDIA GPU を載せた Linux ホスト、版を固定したエンジン、そして同じモデル・workload・品質スイートでのこの計画の実行が必要です。
answer-some = ここで計測したもの：{ $measured }。計測していないもの：{ $missing }。根拠のない列は根拠のある列と並べられないため、エンジンは選んでいません。
answer-all = 4 列すべてに根拠があります（{ $measured }）。このページは条件を揃えて並べるところまでです。選択は workload の形に沿ってチームが行います。
changes = 先週からの変化
changes-unknown = このページは単独で作成したもので、先週の版とは比べていません。
changes-none = ばらつきを超える変化はありません。
fixed = 固定した列
fixed-note = 計測の前に決めたものです。これを揃えてから速さを語ります。
column-model = モデル系列（リビジョン、重み）
column-quantization = 量子化（重み / 活性化 / KVキャッシュ）
column-context = context 上限
column-engine = エンジン
column-profile = 起動プロファイル（変える項目）
column-workload = 作業負荷（workload）
column-sampling = サンプリング
column-gateway = ゲートウェイ
column-label = 環境ラベル
column-quality = 品質スイートと版
column-preparation = 準備時間を意思決定に含めるか
value-differs = 揃っていません
value-tokens = { $count } トークン
value-workload = { $name }：{ $what }
value-input = 入力 { $input } トークン（{ $shared }）
value-output = 出力 { $output } トークン（{ $exact ->
    [true] 固定長
   *[false] 上限
  }）
value-duration = 1 段あたり最長 { $s } 秒
value-slo = SLO：{ $slo }
shared-none = 共有プレフィックスなし
shared-one = うち共有プレフィックス { $shared }
shared-groups = うち共有プレフィックス { $shared }、{ $groups } グループ
content-words = シードで決まる語の並び
content-structured-output = JSON スキーマ付きの質問（入力の長さは質問による）
content-own-traffic = チーム自身のメッセージ（入力の長さはメッセージによる）
slo-ttft = TTFT ≤ { $ms } ms
slo-tpot = TPOT ≤ { $ms } ms
slo-e2e = 応答全体 ≤ { $ms } ms
load = { $arrival ->
    [closed] 同時実行 { $ladder }
    [constant] { $ladder } req/s・等間隔
    [poisson] { $ladder } req/s・ポアソン到着
   *[rate] { $ladder } req/s
  }
load-kind = { $arrival ->
    [closed] 同時実行
    [constant] req/s・等間隔
    [poisson] req/s・ポアソン
   *[rate] req/s
  }
load-title = 負荷
value-no-gateway = なし（エンジンに直接つなぐ）
value-attached = URL で接続しました。ラボが起動したものではなく、重みと設定は申告によります。動作中のエンジンが自ら示す値を優先します。
value-attached-around = URL で接続しました。ラボが起動したものではなく、重みと設定は申告によります。動作中のエンジンが自ら示す値を優先します。中で動くエンジンは { $engine } です。
value-no-weights = 重みなし
value-undecided = 未決定
value-yes = 含める
value-no = 含めない（表示はし、チームが除外したことを明記）
caveats = 先に読むこと
caveat-off-table = このページの数字は、比較表に載せないエンジンのものです。4 つの列については何も示しません。
caveat-one-launch = 各設定の起動は 1 回だけなので、区間はありません。行どうしの差は偶然かもしれません。
caveat-some-launches = 1 回しか起動していない設定があり、その行に区間はありません。
caveat-invalid = 予定どおりに負荷をかけられず、無効になった段があります。その行に数字はなく、理由だけを載せています。
caveat-no-certificate = 証明書のない実行があります。このマシンでは計測器を較正していません（lab calibrate）。
caveat-conditions = どの数字も、併記した条件でだけ成り立ちます。
caveat-nothing = このページの元になる計測はまだありません。規則と、これから埋める表と、理由だけを載せています。

## チェックリスト

checklist = チェックリスト（エンジン比較の前）
checklist-caption = 6 つの問いと答え
checklist-note = 検証前に確認する 6 つの問いです。「はい」「いいえ」は証拠から導きます。「未確定」は、証拠からは言えないという意味です。
checklist-question = 問い
checklist-answer = 答え
checklist-why = 判断の理由
checklist-evidence = 証拠
answer-yes = はい
answer-no = いいえ
answer-open = 未確定
no-evidence = なし
question-engines = 比較対象は vLLM / TRT-LLM / SGLang / Atlas のどれか
question-model = 比較対象のモデル系列は同じか（エンジンのサポート表に載る組み合わせか）
question-workload = workload（concurrency / max tokens）は同じか
question-label = 環境ラベル（harness-check / real-gpu）は付いているか
question-preparation = 準備時間（ビルド有無・cold start）を意思決定に含めるか決めたか
question-quality = 品質スイート版が同じか
check-none = 確認できる実行がありません。
check-engines-yes = 比較対象：{ $engines }。
check-engines-no = 4 つに含まれないもの：{ $engines }。
check-engines-open = 一覧にない名前です：{ $engines }。まず「同じ列に載せる試合か」を確認します。
check-model-yes = { $series }、重み { $digest }。どの実行でも実際に応答し、成功したリクエストがあります。サポート表は証拠に含まれないため、応答した事実で代えています。
check-model-no = モデルが異なります：{ $models }。
check-model-open-digest = { $series }。ただし、重みのダイジェストが記録されていない実行があります。
check-model-open-served = { $series }。ただし、成功したリクエストのない実行があります。
check-workload-yes = workload は同じで（{ load }、出力 { $output } トークン）、成功した応答はすべて指定どおりの長さです。
check-workload-yes-free = workload は同じです（{ load }、出力は最大 { $output } トークン）。固定長は指定していません。
check-workload-no = 次の項目が異なります：{ $fields }。
check-workload-open-length = workload は同じですが、指定した { $output } トークンに対し、成功した応答は { $lengths } トークンでした。
check-workload-open-measured = workload は同じですが、有効な計測で成功した応答のない段がある実行が含まれます。
check-label-yes = すべて { $labels } です。
check-label-no = ラベルが混在しています：{ $labels }。
check-preparation-yes-counts = 決定済み：含めます。
check-preparation-yes-excluded = 決定済み：含めません（表示はします）。
check-preparation-no = 実行によって異なります：{ $values }。
check-preparation-open = 決定を記録した実行がありません。
check-quality-yes = { $suite }、ダイジェスト { $digest }。
check-quality-no = スイートが異なります：{ $suites }。
check-quality-open = 品質の結果がない実行があります。

## 比較表

comparison = 比較表
comparison-caption = 4 つの列。行と列の順は固定で、結果では並べ替えません。
comparison-row = 指標
metric-excluded = { $metric }※チームが意思決定から除外
comparison-off-note = 比較表に載せないエンジンは、ここには現れません。
not-measured = ここでは未計測
needs = 必要なもの：{ $what }
metric-build = ビルド
metric-startup = 起動（起動から受付可能まで）
metric-first-request = 最初のリクエスト（送信から最初のトークンまで）
metric-output-tok-per-s = 出力（{ $load }）
metric-output-tok-per-s-any = 出力（負荷ごと）
metric-goodput = goodput（{ $load }、{ $slo }）
metric-goodput-any = goodput（{ $slo }）
metric-ttft = TTFT { $q }（{ $load }）
metric-ttft-any = TTFT { $q }（負荷ごと）
metric-tpot-p50 = TPOT p50（{ $load }）
metric-tpot-p50-any = TPOT p50（負荷ごと）
metric-success = 成功したリクエスト
metric-quality = タスクごとの品質
metric-runs = run_id
unit-s = 秒
unit-ms = ms
unit-tok-s = tok/s
unit-req-s = req/s

## エンジン：カードと 2 つの表

traits-caption = 比較対象の推論エンジン（4つ）
traits-note = 各行は検証ラボの記事の記述で、日付はありません。その後の事実と食い違うところは、日付を付けて併記します。
engine = エンジン
traits = 特徴
fits = 向く場面
mind = 注意点
place = 連載での位置
later-fact = その後の事実：{ $fact }
patterns-caption = パターンで見ると
pattern = パターン
pattern-serve = serve中心
pattern-build-serve = build→serve（ビルドしてから起動）
pattern-serve-looks = 起動再現性、同時実行、cold start、パーサ対応
pattern-build-serve-looks = ビルド時間・成果物管理・版固定・ハード制約
pattern-looks = 意思決定で見るもの

engines = 4 つのエンジンのカード
engines-note = どのカードも同じ形、同じ長さです。元になる 2 つの記事と、日付のある事実から書いており、実行の数字は載せません。
engine-card-fits = 向く場面
engine-card-fits-not = 向かない場面
engine-card-prepares = 準備
engine-card-unmeasured = 計測していないこと
engine-card-nothing = すべて。この列に実行はありません。必要なもの：{ $what }。
engine-card-gaps = { $gaps }。
engine-card-gap-beside = ほかの列と並べられる実行
engine-card-gap-load = 負荷
engine-card-gap-preparation = 準備時間
engine-card-gap-quality = 品質
engine-card-gap-spread = 起動し直したときのばらつき
engine-card-gap-else = 証拠カードにないモデル、workload、マシンのすべて
engine-vllm-card-fits = トラフィックに目立った形がない、ハードウェアやモデルが混在している、多ユーザー常駐の条件をまだ試している、といった場面。入門書の決定木では、ほかの枝に当てはまらないときの行き先です。
engine-vllm-card-fits-not = 長い共有プレフィックスがトラフィックの大半を占めるとき。NVIDIA だけの構成で同じモデルを長く使い、ビルドの手間を取り戻せるとき。どちらも別の枝が先です。オプションを記録しないと、条件が溶けます。
engine-vllm-card-prepares = ビルド工程はありません。起動時にコンパイルと CUDA グラフの取り込みをすることがあり、結果はキャッシュに残ります。キャッシュが空の起動と温まった起動を分け、最初のトークンまで測ります。
engine-trtllm-card-fits = GPU は NVIDIA だけで、負荷が高く、モデル・用途・形状が固まっている場面。スループットの伸びで、serve までにかかる手間を取り戻せるときです。記事の言葉では「用途が固まったあとの最適化」です。
engine-trtllm-card-fits-not = モデルの入れ替えが多い、ハードウェアが混在している、ビルドと成果物と版を管理する担当がいない、といった場面。ビルドしたエンジンは別の GPU アーキテクチャでは動かず、形状が変わればビルドし直します。
engine-trtllm-card-prepares = 1.2 までのエンジンバックエンドは、モデル・GPU アーキテクチャ・形状ごとにビルドします。2026年7月：main ブランチからは削除されました。PyTorch バックエンドはビルドせずに serve し、「ビルド工程なし」と表示します。
engine-sglang-card-fits = エージェント、tool 呼び出し、長い共有プロンプトといったプレフィックス重視の構造化トラフィックが大半で、ハードウェアの混在やモデルの入れ替えもある場面。モデルと量子化が公式の対応表に載っていることが前提です。
engine-sglang-card-fits-not = リクエスト間でプロンプトがほとんど共有されず、この枝を選ぶ理由がなくなるとき。モデルが対応表にないとき。パーサ不一致などが起きやすく、記事は比較前に対応表を確認するよう求めています。
engine-sglang-card-prepares = ビルド工程はありません。起動時に重みを読み、KVキャッシュを確保し、CUDA グラフを取り込みます。そのマシンでの初回にカーネルをコンパイルすることがあるため、キャッシュが空の起動と温まった起動を分けて測ります。
engine-atlas-card-fits = マシンが DGX Spark（GB10）で、モデル×量子化が対応表に載っている場面。そこに「別エンジン列」を 1 つ加えます。列に載ることは採用を意味せず、速度だけで本線に載せることもありません。
engine-atlas-card-fits-not = モデルが対応表にないとき。汎用の代替経路はありません。多ユーザー常駐については、記事では継続バッチング非対応です。2026年11月：現在のソースコードにはあり、decode のバッチは設定しなければ 8 です。
engine-atlas-card-prepares = ビルド工程はありません。カーネルは PTX としてイメージに入っていて、初回の起動時にドライバが変換します。グラフの取り込みは起動のあとになるため、最初のリクエストまでを準備に含め、最初のトークンまで測ります。

engine-vllm-traits = 起動プロファイル→コマンド生成が素直。常駐・同時実行のベースラインになりやすい
engine-vllm-fits = 反復検証、多ユーザー常駐の試行
engine-vllm-mind = オプション増で条件が溶けやすい
engine-vllm-place = 比較対象。後続で起動解剖へ
engine-vllm-needs = NVIDIA GPU を載せた Linux ホスト、版を固定した vLLM、Hugging Face 形式のモデルフォルダ
engine-trtllm-traits = 量子化とエンジン焼き込みが前段の build→serve
engine-trtllm-fits = 用途が固まったあとの最適化
engine-trtllm-mind = 準備コスト・版・ハードウェア制約の設計が要る
engine-trtllm-place = 比較対象。後続で2段ビルドへ
engine-trtllm-later = 2026年7月：TensorRT エンジンのバックエンドは main ブランチから削除されました。1.2 までの版には残っています。PyTorch バックエンドはエンジンをビルドせずに serve するため、ビルド時間は「ビルド工程なし」と表示します。
engine-trtllm-needs = NVIDIA GPU を載せた Linux ホスト（CPU では動きません）、版を固定した TensorRT-LLM。1.2 までのエンジンバックエンドでは、さらにモデル・GPU アーキテクチャ・形状ごとのビルド
engine-sglang-traits = serve 中心の別実装。モデル／量子化の公式サポート範囲がはっきりしている
engine-sglang-fits = vLLM と並べて decode・集約・tool 経路を見るとき
engine-sglang-mind = サポート外モデルでパーサ不一致などが起きやすい。比較前に対応表を確認する
engine-sglang-place = 比較対象
engine-sglang-needs = NVIDIA GPU を載せた Linux ホスト、版を固定した SGLang、サポート表に載るモデルとパーサの指定
engine-atlas-traits = Rust + CUDA。DGX Spark（GB10）向けに手が入っている系統
engine-atlas-fits = Spark上で「別エンジン列」を立てるとき
engine-atlas-mind = 対応モデル×量子化が限定的。多ユーザー常駐では継続バッチング非対応などで向きが分かれやすい。ベンダー発表の速さは使わない。コーディング品質が他経路（例: vLLM×FP8）より退行した事例もあるが、「Atlas単体が壊す」より「量子化／経路の差」として読む。速度だけで本線に載せない
engine-atlas-place = 比較対象（≠本番採用）
engine-atlas-later = 2026年11月：現在のソースコードには継続バッチングがあります。decode のバッチは既定で 8、設定で 128 まで上げられます。
engine-atlas-needs = DGX Spark（GB10）など対応するマシン、ダイジェストを固定したイメージ、対応表に載るモデル×量子化

## パイプライン確認

pipeline = パイプライン確認
pipeline-caption = パイプライン確認の実行
pipeline-rule = この表の規則
pipeline-rule-own = 比較表に載せないエンジンも、起動・負荷・品質・レポートが動くことを確かめるために、ここでは実行できます。この表の行を比較表へ移すことはありません。
pipeline-varied = 変えたもの：{ $fields }
pipeline-equal = 揃えたもの：{ $fields }
pipeline-differs = 変えると宣言していないのに異なるもの：{ $fields }
pipeline-unknown = 宣言なし
run = 実行
runs-none = 実行はありません。
engine-version = エンジンが名乗る版
settings = 設定
settings-default = エンジンの既定値
not-expressible = 指定したが、このエンジンでは表せないもの：{ $fields }
week = 週
state-unknown = エンジンは版を名乗りません

preparation = 準備時間
preparation-caption = 準備時間：それぞれ、名前を付けた 2 つの時点の間です
preparation-build = ビルド（build_start から build_end）、秒
preparation-startup = 起動（launch から ready）、秒
preparation-first = 最初のリクエスト（first_request_sent から first_token）、秒
preparation-cache = 重みの読み込み元
preparation-launches = この仕様の起動
launches-started = { $attempts } 回中 { $successes } 回が起動完了
launches-spread = 起動 { $median } 秒（{ $low }〜{ $high }）
launches-no-spread = 起動 1 回、ばらつきは不明
tier-as-found = 現状のまま、準備なし
tier-download = 指定：先に取得
tier-disk-cold = 指定：ディスクから、コンパイルキャッシュは空
tier-warm = 指定：すべて温まった状態
card-phases = エンジン自身が報告した起動の内訳
no-build-step = ビルド工程なし
build-reused = 以前の実行でビルドしたものを再利用
startup-not-seen = 未観測（起動済みに接続）
no-preparation = 準備時間の記録なし
preparation-counted = 準備時間を意思決定に含める、とチームが決めています。
preparation-excluded = 準備時間を意思決定に含めない、とチームが決めています。数字は示し、除外したことを明記します。
preparation-apart = 準備時間を含めるかどうかが実行によって異なるため、実行をまたいで損益分岐は読めません。
preparation-open = 準備時間を含めるかどうかは、まだ決まっていません。
payback-caption = 準備時間と速さを並べて見る
payback-note = 準備時間は、ビルド、起動、最初のリクエストの合計で、最初のトークンが出るまでです。損益分岐は、準備の長い設定が、この負荷をどれだけ続ければもう一方と同じ量を出力し終えるかを示します。同じ試合の最初の行を基準にします。
payback-preparation = 準備時間の合計、秒
payback-output = 出力（すべての設定で計測した最も高い負荷）、tok/s
payback-after = 損益分岐
payback-base = 基準の行
payback-unseen = 観測できなかった部分がある
payback-no-load = すべての設定に共通する負荷での値がない
payback-excluded = チームが除外（準備時間を含めない）
payback-undecided = 準備時間を含めるか未決定
payback-other-tier = 比較できません：起動前のキャッシュの状態が異なる
payback-overlap = 未確定：出力の区間が重なっている
payback-nothing = 取り戻す分はない：{ $shorter } は準備が短く、出力も下回らない
payback-hours = この負荷を { $after }続けると、{ $longer } は準備の長さを取り戻す
cache-download = ネットワーク
cache-disk-cold = 冷えたディスク
cache-warm = 温まったページキャッシュ
cache-none = 重みを読み込まない
cache-unknown = 不明

throughput = スループット
throughput-caption = 実行と負荷ごとのスループット
latency-caption = 実行と負荷ごとの待ち時間（実際の送信から数えたもの）
requests = リクエスト
success = 成功
output-tok-s = 出力（定常区間）、tok/s
output-tok-s-whole = 出力（段の全体）、tok/s
window = 区間 { $s } 秒
window-whole = 全体 { $s } 秒
request-rps = リクエスト（定常区間）、req/s
goodput = goodput、req/s
goodput-no-slo = SLO の指定なし
goodput-other-slo = この SLO では計測していない
interval-output = 出力の 95 % 信頼区間、tok/s
interval-ttft = TTFT p50 の 95 % 信頼区間、ms
interval-none = 区間なし（起動 1 回）
interval = [{ $low }, { $high }]
launches = 起動 { $n } 回
interval-note = 同じ spec_digest を起動し直した結果から、Student の t 分布で求めた区間です。1 回の起動の中の値は独立ではないので、区間の根拠にしません。
ttft = TTFT { $q }、ms
tpot = TPOT { $q }、ms
chunk-gap = チャンク間隔 { $q }、ms
prompt-tokens = 入力トークン（チャットテンプレートを含む）
range = { $low }～{ $high }
missing = 値なし
missing-level = 計測なし
missing-success = 成功したリクエストなし
missing-steady = 指定した同時実行数に達しなかった
missing-window = 定常区間がなかった
missing-usage = サーバがトークン数を返さなかった
levels-invalid = 無効な { $n } 段を除く
invalid-late = 無効：リクエストの送信が最大 { $value } ms 遅れました（p99、限度 { $limit } ms）
invalid-late-bare = 無効：リクエストの送信が予定より遅れました
concerns = 読むときの注意：{ $concerns }
concern-separator = { "／" }
concern-few-requests = 分位数を出すには成功数が少ない
concern-drift = 前半と後半で待ち時間が異なる
concern-outliers = 最も長いリクエストが中央値の何倍もかかった
concern-lengths-differ = 応答の長さが揃わず、tok/s と req/s の示すものが異なる
concern-no-usage = サーバがトークン数を返さなかった応答がある
concern-beyond-certificate = 計測器について確認済みのストリーム数を超えている
concern-no-certificate = このマシンでは計測器を較正していない
concern-shared-machine = ほかのプロセスがこのマシンの CPU を使用（コア数）
concern-value = { $concern }（{ $value }）
concern-value-limit = { $concern }（{ $value }、限度 { $limit }）
intended-caption = 実行と負荷ごとの待ち時間（予定した送信から数えたもの）
intended-note = オープンループで送信が遅れたリクエストは、その時点ですでに利用者を待たせています。ここでは、送信するはずだった時刻から数えます。
schedule-lag = 送信の遅れ { $q }、ms
ttft-intended = 予定した送信からの TTFT { $q }、ms
e2e-intended = 予定した送信から応答の終わりまで { $q }、ms
structured-caption = 構造化出力
structured-note = スキーマに沿った JSON を求めたリクエストの内訳です。数えているのは応答の形で、内容の正しさではありません。
structured-valid = 適合
structured-invalid = 不適合
structured-truncated = 途中で切断
structured-refused = スキーマの拒否
structured-failed = 失敗
structured-share = { $share } %
outcome-success = 成功
outcome-http_error = HTTP エラー
outcome-in_band_error = ストリーム内のエラー
outcome-truncated = 途中で切断
outcome-short = 長さ不足
outcome-overlong = 長さ超過
outcome-empty = 空
outcome-malformed = 形式の誤り
outcome-timeout = タイムアウト
outcome-connection = 接続エラー
outcome-cancelled = 中止

quality = 品質
quality-caption = 同じ run_id で測った品質
quality-note = スコアは全項目に対する値です。採点できなかった項目は何も加えないので、採点数と並べて読みます。標準誤差は 1 つのスコアのもので、差の誤差ではありません。スコアの差は、エンジン単体ではなく、量子化／経路の差として読みます。
task = タスク
score = スコア
items = 問題数
scored = 採点数
unscored = 採点できなかった数と理由
stderr = 標準誤差
quality-not-applicable-seeded-text = 対象外：シードで決まる文を返すエンジンのため
quality-not-measured = 品質は未計測
unscored-request_failed = リクエスト失敗
unscored-empty = 空の応答
unscored-null = 応答が null
unscored-truncated = 途中で切断
unscored-reasoning_only = 推論過程のみ
unscored-contract = 応答が経路の取り決めに反する
unscored-does_not_fit = コンテキストに収まらない
unscored-not_supported = 非対応
unscored-not_asked = 未実施
unscored-none = なし

sentence-separator = { "" }
contrasts = 品質を並べて見る
contrasts-caption = 同じ試合の 2 つの実行を、同じスイートの同じ問題で比べたもの
contrasts-note = 両方の実行で採点できた問題だけを比べます。差は、後の実行から先の実行を引いたもので、100 点満点のポイントで表します。先の実行とは、先に計測した実行です。区間は 95 % 信頼区間です。判定は区間とあらかじめ示した許容幅から出し、p が大きいことを根拠にはしません。p は同じ試合のすべての検定について補正しています（Holm 法）。差を何によるものと読めるかは、2 つの経路を項目ごとに比べた区分で決まります。
contrasts-none = 同じ試合の中に、同じスイートに答えた実行が 2 つありません。
contrasts-pair = 先の実行と後の実行
contrasts-class = 区分と、異なる項目
contrasts-score = スコア
contrasts-coverage = 採点数
contrasts-flips = 下がった / 上がった問題
contrasts-same = 同じ応答
contrasts-p = p（Holm 補正後）
contrasts-tests = 検定 { $n } 件
contrasts-json = この比較の JSON
contrast-first = 先：{ $label }
contrast-second = 後：{ $label }
contrast-then = { $first } → { $second }
contrast-of = { $all } 問中
contrast-class-E = E・エンジンの経路のみ
contrast-class-Q = Q・量子化のみ
contrast-class-N = N・同じ経路の繰り返し
contrast-class-X = X・要因は決められない
contrast-reads-E = ここでの差はエンジンの経路（{ $fields }）の差として読みます。エンジン単体の差ではありません。
contrast-reads-Q = ここでの差は量子化（{ $fields }）の差として読みます。
contrast-reads-N = 記録のあるかぎり 2 つの経路は同じです。ここに見えるのは、繰り返しによるばらつきです。
contrast-reads-both = エンジンの経路と量子化がどちらも異なる（{ $fields }）ため、何による差かは決められません。
contrast-reads-weights = 形式の名前は同じでも重みのバイト列が異なる（{ $fields }）ため、何による差かは決められません。
contrast-reads-unrecorded = 記録のない項目（{ $fields }）があるため、何による差かは決められません。
contrast-sentence = { $n } 問での差は { $difference } ポイント [{ $low }, { $high }] です（下がった問題 { $down }、上がった問題 { $up }）。{ $visible }。{ $verdict }。
contrast-visible = 見分けられる最小の差は { $points } ポイントです
contrast-visible-none = この問題数では、どのような差も見分けられません
contrast-verdict-shown = { $margin } ポイントを超える低下はないと言えます
contrast-verdict-not-shown = { $margin } ポイントを超えて低下しています
contrast-verdict-undecided = 許容幅 { $margin } ポイントに収まるかどうかは未確定です
contrast-verdict-noise = 繰り返すだけで、これだけのばらつきが出ます
contrast-no-coverage-low = 採点できた問題が 98 % に満たないため、判定しません
contrast-no-coverage-apart = 採点できた割合が 2 つの実行で 1 ポイントを超えて異なるため、判定しません
contrast-no-item = 両方の実行で採点できた問題がありません。
contrast-lanes = 応答の違いが現れ始めるところ：{ $lanes }。
contrast-lanes-none = 尋ねたどの段階でも、応答は同じです。
lane-tokens = 数値計算（トークン ID を渡し、そのままの続きを受け取る）
lane-text = エンジン自身のトークナイザ
lane-chat = チャットテンプレート
lane-parser = 推論過程とツール呼び出しのパーサ
lane-grammar = 文法バックエンド

instrument = 計測器の確認
instrument-caption = この版の計測器の確認
instrument-note = 参照エンジンは、各チャンクをいつ送ったかを答えます。この誤差は計測器自身が加える分です。同じくらいの大きさの差は、このページからは読み取れません。サーバ自身の遅れは分けて載せてあり、計測器の誤差ではありません。
instrument-none = このページのための計測器の確認はありません。
standing-caption = 各実行が拠って立つ証明書
certificate = 計測器の証明書
certificate-valid = 有効範囲
certificate-limits = 明示した限度
certificate-made = 作成
certificate-runs = 実行
certificate-streams = { $n } ストリームまで
certificate-no-streams = なし（限度に収まった段がない）
certificate-none = このマシンでは計測器を較正していません：lab calibrate
certificate-caption = 証明書 { $id }：送信時刻を自分で知っているサーバに対する計測器の誤差
certificate-empty = 段はありません。
certificate-beyond = 有効範囲外
certificate-lab = ラボの版 { $version }
certificate-workers = 負荷プロセス { $n } 個
bound-ttft-error = TTFT の誤差の平均 ≤ { $ms } ms
bound-chunk-lag = チャンクの遅れ p99 ≤ { $ms } ms
matched = 照合数
matched-chunks = { $n } チャンク
summary-mean = 平均
summary-max = 最大
ttft-true = 真の TTFT（平均）、ms
transit-note = うち転送 { $ms }
ttft-error = TTFT の計測値 − 真の値、ms
chunk-lag = チャンクの遅れ、ms
gap-error = チャンク間隔の計測値 − 真の値、ms
schedule-error = 実際の送信 − 予定した送信、ms
schedule-none = 予定時刻なし
loop-lag = ループの遅れ、ms
client-cost = 負荷側：チャンクあたり CPU、メモリ
client-unread = 読み取れず
server-late = サーバ自身の遅れ、ms

## 図

charts = 図
chart-note = 同じ起動プロファイルは、どの図でも同じ色と同じ印です。
chart-data = この図のデータ
chart-empty = 描く値がないため、図はありません。
chart-throughput = { $arrival ->
    [closed] 同時実行数に対する 1 秒あたりの出力トークン数（1 実行 1 本）
    [constant] 等間隔で送るリクエスト数に対する 1 秒あたりの出力トークン数（1 実行 1 本）
    [poisson] ポアソン到着で送るリクエスト数に対する 1 秒あたりの出力トークン数（1 実行 1 本）
   *[rate] 送るリクエスト数に対する 1 秒あたりの出力トークン数（1 実行 1 本）
  }
chart-throughput-desc = { $arrival ->
    [closed] 実行は { $n } 件です。横軸は同時実行数（クローズドループ）、縦軸は 1 秒あたりの出力トークン数で、0 から始まります。無効な段は含みません。値は下のデータ表にあります。
   *[rate] 実行は { $n } 件です。横軸は 1 秒あたりに送る予定のリクエスト数（オープンループ）、縦軸は 1 秒あたりの出力トークン数で、0 から始まります。無効な段は含みません。値は下のデータ表にあります。
  }
chart-throughput-x = { $arrival ->
    [closed] 同時実行数
    [constant] 送る予定、req/s・等間隔
    [poisson] 送る予定、req/s・ポアソン到着
   *[rate] 送る予定、req/s
  }
chart-throughput-y = 出力、tok/s
chart-preparation = 準備時間の内訳（秒、1 実行 1 本）
chart-preparation-desc = 実行は { $n } 件です。横軸は秒で、0 から始まります。内訳はビルド、起動、最初のリクエストです。ビルド工程のない実行にはビルドの部分がありません。
chart-preparation-x = 秒
chart-ttft = { $arrival ->
    [closed] TTFT の p50、p90、p99（クローズドループ、実行と負荷ごと）
    [constant] TTFT の p50、p90、p99（等間隔の到着、実行と負荷ごと）
    [poisson] TTFT の p50、p90、p99（ポアソン到着、実行と負荷ごと）
   *[rate] TTFT の p50、p90、p99（オープンループ、実行と負荷ごと）
  }
chart-ttft-desc = 行は { $n } 本です。横軸は実際の送信から数えたミリ秒で、0 から始まります。大きな印が p50、白抜きの丸が p90、縦棒が p99 です。1 回の起動の中の分位数で、区間ではありません。無効な段は含みません。
chart-ttft-x = TTFT、ms
chart-at-load = { $label }、{ $load }
phase-build = ビルド
phase-startup = 起動
phase-first = 最初のリクエスト

## 並べられるか

side-by-side = 同じ試合の行と並べられるか
comparable = 比較できます
not-comparable = 比較できません
metric-footnotes = 脚注
footnotes = 脚注 { $n }
not-supported = 非対応
standing-claims = 主張：どの数字も、エンジン自身のプロセスが GPU で計算していることを確認しながら計測しました（real-gpu）。
standing-observations = 観測：この数字から性能は主張できません。意思決定の規則も読みません。
standing-both = real-gpu の行の数字は主張、ほかの行の数字は観測です。意思決定の規則は観測を読みません。
caveat-not-comparable = 並べられない実行があります。その列と行に、直す順に理由を載せています。
workload-not-supported = 非対応：この workload に必要な機能（{ $what }）を事前確認で確かめられなかったため、負荷を送っていません
value-not-recorded = 記録なし
value-not-set = 指定なし
mismatch-line = { $what }：{ $why }
mismatch-line-values = { $what }：{ $why }（{ $values }）
mismatch-asked-differs = 指定が異なる
mismatch-differs = 異なる
mismatch-also-varies = これも異なる（変えてよいのは 1 つだけ）
mismatch-read-back-differs = 稼働中のエンジンが示す値が異なる
mismatch-not-read-back = 値を示さないエンジンがある（記録がないため比較できない）
mismatch-not-as-asked = 指定と、稼働中のエンジンが示す値が異なる
mismatch-not-expressible = 指定したが、このエンジンでは表せない
mismatch-imposed = 指定にかかわらずエンジンが決める
mismatch-check-failed = 事前確認で不合格
mismatch-check-not-made = 確認できないエンジンがある
mismatch-counts-differ = 数えた結果が異なる
mismatch-not-supported = workload に必要だが、事前確認で確かめられなかった
mismatch-not-measured = 最後まで計測していない
topic-model = モデル
topic-quantization = 量子化
topic-prompt = テンプレートとサンプリング
topic-workload = 作業負荷（workload）
topic-settings = エンジンの設定
topic-hardware = ハードウェア
topic-measurement = 計測
field-part = { $whole }の { $part }
field-spec_version = 仕様の版
field-table = 表
field-model = モデル
field-quantization = 量子化
field-gateway = ゲートウェイ
field-workload = 作業負荷（workload）
field-sampling = サンプリング
field-quality = 品質スイート
field-preparation_counts = 準備時間を含めるか
field-cache_tier = 起動前のキャッシュの指定
field-profile = 起動プロファイル
field-behind = 内部のエンジン
field-engine_version = エンジンの版
field-cache_state = 重みの読み込み元
field-machine = マシン
field-grade = 環境ラベル
field-certificate = 計測器の証明書
field-lab_version = ラボの版
field-state = 実行の状態
field-exact_output = 出力の固定長
conditions-caption = { $run } の条件：指定、読み戻した値、指定の方法
condition = 条件
condition-wanted = 指定
condition-effective = 稼働中のエンジンから読み戻した値
condition-how = 指定の方法
left-to-engine = エンジンに任せる
not-exposed = 公開されていない
condition-compute_dtype = 計算の数値形式
condition-kv_cache_dtype = KVキャッシュの数値形式
condition-context_limit = context 上限
condition-kv_cache_tokens = KVキャッシュ（トークン数）
condition-memory_fraction = GPU メモリの割合
condition-max_num_seqs = 同時に処理する系列数の上限
condition-max_batched_tokens = prefill 1 回のトークン数の上限
condition-prefix_caching = プレフィックスキャッシュ
condition-chunked_prefill = 分割 prefill
condition-speculative = 投機的デコード
condition-cuda_graphs = CUDA グラフ
condition-torch_compile = 起動時のコンパイル
condition-tensor_parallel = テンソル並列
condition-pipeline_parallel = パイプライン並列
condition-sampling_defaults = サーバのサンプリング既定値
condition-seed = シード
condition-chat_template = チャットテンプレート
condition-chat_template_kwargs = チャットテンプレートの変数
condition-tool_parser = tool パーサ
condition-reasoning_parser = 推論過程のパーサ
condition-grammar_backend = 文法バックエンド
condition-metrics = メトリクス
condition-request_log = リクエストのログ
condition-telemetry = テレメトリ
how-set = コマンド・環境変数・設定ファイルで指定
how-left = 指定なし（エンジンの既定値）
how-request = すべてのリクエストで指定
how-imposed = エンジンが決める
how-not-expressible = 表せない
how-declared = 申告（起動済みに接続）
checks-caption = { $run } の事前確認：稼働中のエンジンについて確かめたこと
probe = 確認項目
probe-result = 結果
probe-counts = 数えた値
probe-consequence = 合格しないとき
probe-result-pass = 合格
probe-result-fail = 不合格
probe-result-not-exposed = 確かめられない
consequence-equality = 不合格なら比較できない
consequence-capability = 必要とするものは非対応
consequence-record = 記録のみ
probe-models = モデル名
probe-tokenize = トークナイザへの問い合わせ
probe-prompt-tokens = 決まった会話の入力トークン数
probe-exact-length = 出力の固定長
probe-stream-dialect = ストリームの形式
probe-kv-capacity = 指定どおりの KVキャッシュ容量
probe-context-limit = context 上限が守られるか
probe-neutral-sampling = 隠れたサンプリング既定値がないか
probe-seed = シードで文が決まるか
probe-repeat = 単独でも負荷の中でも同じ文か
probe-echo = 入力の logprob（echo）
probe-logprobs = 応答の logprob
probe-json-schema = JSON スキーマに従うか
probe-tool-call = tool 呼び出しの解析
probe-unknown-field = 未知のフィールドの扱い
probe-thinking = 推論過程の有無が指定どおりか
probe-prefix-cache = プレフィックスキャッシュが指定どおりか

## 道筋、選択が変わる条件、これまでの決定

path = 意思決定の道筋
path-none = このページには意思決定の規則を当てはめていないため、どのエンジンにも道筋は至りません。workload ごとにどの規則を使うかはチームが宣言し、その問いの一部に、ここでの計測が答えます。
flips = 何があれば選択が変わるか
flips-none = 道筋がないため、変わりうる選択もありません。
history = これまでの決定
history-none = この版には決定の記録がありません。

## 比較表に載せないもの

off-table = 比較表に載せないもの（理由つき）
off-table-note = 「劣っているから」ではありません。試合の前提が違うか、いま測る軸が違うためです。
off-caption = 比較表に載せないエンジン
gateways-caption = ゲートウェイとプラットフォーム（エンジンではないもの）
off-name = 名前
off-reason = 比較表に載せない理由
off-fact = 事実と日付
engine-ollama-reason = 個人利用・手軽さ向き。多ユーザー常駐の docker-compose 運用を前提にした横比較には載せない
engine-ollama-fact = 2026年8月：リクエストの枠は既定で 1 つ（OLLAMA_NUM_PARALLEL は 1）。内部では llama.cpp の llama-server を使っています。
engine-nim-reason = 導入容易性と引き換えに柔軟性が下がる系統。当面の4列（オープンな serve / build→serve）とは判断軸が違う。別PoCの余地はあっても、いまの比較表には入れない
engine-nim-fact = 2026年11月：2.x の各イメージは vLLM か SGLang のどちらか 1 つを収めています。
engine-llama-cpp-reason = 端末寄り・軽量系統。同じ常駐・同時実行の試合規則で並べる主対象ではない
engine-llama-cpp-fact = 2026年11月：並列スロットを持つ HTTP サーバがあります。このラボではパイプラインの確認に使います。
engine-tgi-reason = 入門書の 5 つのエンジンの 1 つで、決定木に名前があります（混合ハードウェア、一般的なチャット、深い Hugging Face 統合）。
engine-tgi-fact = 2025年12月：README が保守モードを告げ、他のエンジンを案内しています。確認した最後のコミットは 2026年1月です。
engine-litellm-reason = ゲートウェイ記事側で扱うもの。URL でつなぎ、背後のエンジンを必ず名指しし、経由すること自体を条件に含めます。
engine-litellm-fact = 2026年11月：/health は実際にモデルへリクエストを送るため、ラボはこれをポーリングしません。
engine-triton-reason = エンジンの上のプラットフォーム層（入門書の第11章）。URL でつなぎ、背後のエンジンを必ず名指しし、経由すること自体を条件に含めます。
engine-triton-fact = 2026年11月：TensorRT エンジンのバックエンドは削除済みです。2026年7月のイメージは vLLM を収めています。
engine-ray-serve-reason = エンジンの上のプラットフォーム層（入門書の第11章）。URL でつなぎ、背後のエンジンを必ず名指しし、経由すること自体を条件に含めます。
engine-ray-serve-fact = 2026年11月：Ray Serve LLM の中のエンジンは vLLM です。
engine-kserve-reason = エンジンの上のプラットフォーム層（入門書の第11章）。URL でつなぎ、背後のエンジンを必ず名指しし、経由すること自体を条件に含めます。
engine-kserve-fact = 2026年11月：Hugging Face ランタイムのバックエンドは vLLM です。
engine-bentoml-reason = エンジンの上のプラットフォーム層（入門書の第11章）。URL でつなぎ、背後のエンジンを必ず名指しし、経由すること自体を条件に含めます。
engine-bentoml-fact = 2026年11月：BentoVLLM は vLLM で serve します。
engine-unlisted-question = 同じ列に載せる試合か。前提が違えば、速さの数字を並べても意思決定に使えません。
unlisted = ここに載っていない名前

## 用語

glossary = 用語
term-engine = 推論エンジン
term-engine-text = モデルを届ける Web サーバに近い層。重みそのものではない
term-kv-cache = KVキャッシュ
term-kv-cache-text = 会話の途中経過を覚えておくメモリ。毎回ゼロから読まないためのメモ帳
term-prefill = prefill
term-prefill-text = 入力を読んでメモ帳（KV）を作る段階
term-decode = decode
term-decode-text = トークンを1つずつ（またはまとめて）出す段階
term-batching = batching
term-batching-text = 複数リクエストをまとめて流すこと。同時利用者向け
term-tok-s = tok/s
term-tok-s-text = 1秒あたりに出せるトークン数。速さの単位のひとつ
term-ttft = TTFT（ttft_s）
term-ttft-text = リクエストの送信から、トークンを含む最初の差分（本文、推論過程、tool 呼び出し）まで。role だけのチャンクは数えない
term-tpot = TPOT（tpot_s）
term-tpot-text = （最後のトークン − 最初のトークン）÷（n − 1）。n はサーバの usage の値。2 トークン未満では値なし
term-chunk-gap = チャンク間隔（chunk_gap_s）
term-chunk-gap-text = 続けて届いた 2 つのチャンクの間の時間。同じ段のリクエストをまとめて集計する。1 つのチャンクに複数のトークンが入ることもある
term-closed-loop = クローズドループ
term-closed-loop-text = 決まった数のリクエストを常に流し、1 つ終わるとすぐ次を送る方式。エンジンが遅いと、送る数も減る
term-open-loop = オープンループ
term-open-loop-text = 前もって決めた時刻にリクエストを送る方式。等間隔か、ランダムな間隔（ポアソン到着）で、エンジンの様子には左右されない
term-intended-send = 予定した送信
term-intended-send-text = オープンループで送信するはずだった時刻。ここから数えた待ち時間には、送信前の待ちも含まれる
term-schedule-lag = 送信の遅れ（schedule_lag_s）
term-schedule-lag-text = 実際の送信 − 予定した送信。明示した限度を超えた段は、予定した負荷ではなくなるため無効とする
term-steady-window = 定常区間
term-steady-window-text = クローズドループでは、同時実行数に達した送信から、最後の送信のあとに最初の応答が終わるまで。オープンループでは、最初の送信から最後の送信まで。段の全体（最初の送信から最後の終了まで）での値も併記する
term-slo = SLO
term-slo-text = 利用者への約束。TTFT、TPOT、応答全体の限度で表す。指定した限度をすべて守ったリクエストを「守れた」と数える
term-goodput = goodput（goodput_rps）
term-goodput-text = SLO を守れた 1 秒あたりのリクエスト数。SLO の指定がなければ値もない
term-structured-output = 構造化出力
term-structured-output-text = 指定したスキーマの JSON で答えるよう求めたもの。適合、不適合、途中で切断、スキーマの拒否、失敗に分けて数える
term-certificate = 証明書
term-certificate-text = ある種別のマシンで、計測器の誤差がどこまで収まるかを確かめた記録。送信時刻を自分で知っているサーバを相手に、段ごとに調べる
term-chunk-lag = チャンクの遅れ
term-chunk-lag-text = 計測器が記録した到着時刻 − サーバが送った時刻
term-gap-error = チャンク間隔の誤差
term-gap-error-text = トークンを含む、続けて届いた 2 つのチャンクの間隔について、計測値 − 真の値
term-loop-lag = ループの遅れ
term-loop-lag-text = 負荷プロセス自身のタイマーがどれだけ遅れたか。その間に起きたことには気づけない
term-server-late = サーバ自身の遅れ
term-server-late-text = 参照エンジンが自分の予定からどれだけ遅れたか。計測器の誤差ではない。転送（要求をソケットに渡してからサーバが読み終えるまで）も同じく計測器の誤差ではない
term-path = 経路（path_id）
term-path-text = 問いからスコアまでの間にあるものすべて。重み、数値の形式、エンジンとその版、起動設定、チャットテンプレート、パーサ、文法バックエンド、サンプリングを決めるもの。path_id はそのダイジェスト。
term-flip = 変化した問題
term-flip-text = 2 つの実行でスコアの異なる問題。スコアの平均が同じでも、上下の変化が打ち消し合っていることがあるため、両方の向きを数えます。
term-visible = 見分けられる最小の差
term-visible-text = 実際に差があるとき、その問題数で 5 回に 4 回は見つけられる差の大きさ。これより小さい差が見つからなくても、差がないとは言えません。
term-margin = 許容幅
term-margin-text = チームがあらかじめ示した、受け入れられる低下の幅。区間全体が収まれば、それを超える低下はないと言えます。区間がまたぐときは未確定です。
term-run-id = run_id
term-run-id-text = 1 回の実行の名前。性能と品質を同じ run_id に残す
term-claim = 主張
term-claim-text = real-gpu の実行から得た数字を含む文。意思決定の規則が読めるのは主張だけである
term-observation = 観測
term-observation-text = それ以外の実行の数字。ラベルを付けて示すが、意思決定の規則は読まない
term-break-even = 損益分岐
term-break-even-text = 準備に長くかかった設定の出力量が、先に使えるようになった設定に追いつく時点。この負荷を続けた時間で表す
term-harness-check = harness-check
term-harness-check-text = パイプラインを確かめた実行のラベル。この数字から性能を主張することはできない
term-real-gpu = real-gpu
term-real-gpu-text = エンジンが GPU で計算していることを確認した実行のラベル。意思決定の根拠になりうる

## この資料で示せないこと

limits = この資料で示せないこと
limit-four = 「ここでは未計測」の列にある vLLM、TensorRT-LLM、SGLang、Atlas のふるまい。
limit-vendor = ベンダーや文献が発表した速さ。仮説として扱い、計測値としては載せません。
limit-conditions = 証拠カードに書かれたもの以外のモデル、量子化、workload、マシン、版。
limit-loads = 計測した段の間や外側の負荷、無効とした段で何が起きるか。
limit-instrument = 計測器自身の誤差と同じくらいの差。証明書の有効範囲を外れたこと。
limit-form = スキーマに適合した応答の内容が正しいか。SLO が約束として適切か。
limit-causes = 2 つの行が異なる理由。このページが示すのは何を変えたかまでで、原因を言うには別の実行が必要です。
limit-choice = 選択そのもの。判断は自分たちの workload の形に沿って workload ごとに行い、期日を決めて見直します。

## 証拠カード

evidence = 証拠カード
evidence-note = run_id ごとに 1 枚、すべての条件を載せます。マニフェストのダイジェストで、このページと元の記録を照合できます。
evidence-none = 実行がないため、カードもありません。
back-to-row = 表の行へ戻る
card-json = この内容の JSON
card-more = すべての条件・ダイジェスト・事前確認
card-asked = リクエスト
card-table = 表
table-comparison = 比較表
table-pipeline-check = パイプライン確認
table-instrument-check = 計測器の確認
card-attached = 接続のしかた
card-command = 起動コマンド（伏せ字あり）
card-command-none = コマンドなし（URL でつないだエンジン）
card-machine = マシンの種別
card-machine-value = { $accelerator }、{ $cores } コア、{ $memory } GiB、{ $system } { $machine }、Python { $python }
card-support = 対応表
support-value = { $said }（{ $sources }）
support-separator = { "；" }
support-not-asked = 未照会
support-supported = 対応
support-beta = ベータとして対応
support-plugin = エンジン本体に含まれないプラグインで対応
support-refused = 非対応
support-unknown = 不明：該当する行なし（非対応という意味ではない）
support-other-hardware = 対応（ただし、このマシンにはないハードウェア）
card-isolation = 同時に動いていたもの
isolation-value = 申告：{ $declared }；実測：{ $measured }
isolation-not-declared = なし
isolation-exclusive = ほかには何も動かない
isolation-shared = マシンは共用
isolation-not-measured = 未測定
isolation-measured = ほかのプロセスの使用コア数は起動前 { $before }、負荷中 { $during }、停止後 { $after }、エンジンは負荷中 { $engine }
card-engine-use = 負荷中のエンジン自身の計数
engine-use-value = 処理中の最大要求数 { $running }、待機 { $waiting }、KV キャッシュ使用率 最大 { $kv }、プレフィックスキャッシュから得た入力トークン { $prefix }、退避 { $preemptions }、読んだトークン { $prompt }、書いたトークン { $generated }（ウォームアップを含む）
card-gpu-use = 負荷中の GPU
gpu-use-value = { $gpus } 基を確認。エンジン自身のプロセスの計算は{ $seen ->
    [yes] 確認済み
   *[no] 未確認
  }、利用率 { $utilization }、メモリ最大 { $memory } MiB、電力 { $power } W、クロック制限：{ $throttled ->
    [yes] あり
    [no] なし
   *[unknown] 不明
  }、ほかの計算プロセス：{ $others }
card-no-accelerator = GPU は見つからず
card-spec = spec_digest
card-match = match_id
card-path = 経路（path_id）
card-path-open = 経路のうち記録のない項目
card-manifest = マニフェストの SHA-256
card-weights = 重みの SHA-256
card-lab = ラボの版
card-weights-from = 形式 / トークナイザ / チャットテンプレート
card-profile = 起動プロファイル
card-requests = { $bound ->
    [time] 1 段あたり最大 { $n } リクエスト
   *[count] 1 段あたり { $n } リクエスト
  }、ウォームアップ { $warmup }、上限 { $timeout } 秒、シード { $seed }、{ $endpoint }
card-source = プロンプトの元データの SHA-256
card-suite = { $suite } { $version }、ダイジェスト { $digest }、lm-eval { $lmeval }
footer-digest = このページの証拠のダイジェスト
footer-lab = lab { $version } で作成
footer-rebuild = 公開用の証拠だけから作成しています。同じ証拠からは同じバイト列ができます。
