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
answer-some = ここで計測したもの：{ $measured }。計測していないもの：{ $missing }。証拠のない列は証拠のある列と並べられないため、エンジンは選んでいません。
answer-all = 4 列すべてに証拠があります（{ $measured }）。このページは条件を揃えて並べるところまでです。選択は workload の形に沿ってチームが行います。
changes = 先週からの変化
changes-unknown = このページは単独で作成したもので、先週の版とは比べていません。
changes-none = ばらつきを超える変化はありません。
fixed = 固定した列
fixed-note = 計測の前に決めたものです。これを揃えてから速さを語ります。
column-model = モデル系列（リビジョン、重み）
column-revision = リビジョンと重みのダイジェスト
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
    [each] 上限。応答ごとに、その行の長さどおり
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
content-trace = 記録したトラフィックの形（長さと共通の書き出し）に合わせた語の並び
slo-ttft = TTFT ≤ { $ms } ms
slo-tpot = TPOT ≤ { $ms } ms
slo-e2e = 応答全体 ≤ { $ms } ms
load = { $arrival ->
    [closed] 同時実行 { $ladder }
    [constant] { $ladder } req/s・等間隔
    [poisson] { $ladder } req/s・ポアソン到着
    [trace] { $ladder } req/s・記録どおりの間隔の比
   *[rate] { $ladder } req/s
  }
load-kind = { $arrival ->
    [closed] 同時実行
    [constant] req/s・等間隔
    [poisson] req/s・ポアソン
    [trace] req/s・記録の再生
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
check-model-yes = { $series }、重み { $digest }。どの実行もサポート表に載る組み合わせで、実際に応答しました。
check-model-yes-served = { $series }、重み { $digest }。どの実行でも実際に応答し、成功したリクエストがあります。サポート表に該当する行のない実行は、応答した事実で代えています。
check-model-no-support = { $series }。サポート表が非対応とする組み合わせです：{ $engines }。
check-model-no = モデルが異なります：{ $models }。
check-model-open-digest = { $series }。ただし、重みのダイジェストが記録されていない実行があります。
check-model-open-served = { $series }。ただし、成功したリクエストのない実行があります。
check-workload-yes = workload は同じで（{ load }、出力 { $output } トークン）、成功した応答はすべて指定どおりの長さです。
check-workload-yes-free = workload は同じです（{ load }、出力は最大 { $output } トークン）。固定長は指定していません。
check-workload-yes-each = workload は同じで（{ load }、出力は最大 { $output } トークン）、成功した応答はそれぞれの行の長さどおりです。
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
engine-vllm-card-prepares = ビルド工程はありません。起動時にコンパイルと CUDA グラフの取り込みをすることがあり、結果はキャッシュに残ります。そのため cold start と warm start を分け、どちらも最初のトークンまで測ります。
engine-trtllm-card-fits = GPU は NVIDIA だけで、負荷が高く、モデル・用途・形状が固まっている場面。スループットの伸びで、serve までにかかる手間を取り戻せるときです。記事の言葉では「用途が固まったあとの最適化」です。
engine-trtllm-card-fits-not = モデルの入れ替えが多い、ハードウェアが混在している、ビルドと成果物と版を管理する担当がいない、といった場面。ビルドしたエンジンは別の GPU アーキテクチャでは動かず、形状が変わればビルドし直します。
engine-trtllm-card-prepares = 1.2 までのエンジンバックエンドは、モデル・GPU アーキテクチャ・形状ごとにビルドします。2026年7月：main ブランチからは削除されました。PyTorch バックエンドはビルドせずに serve し、「ビルド工程なし」と表示します。
engine-sglang-card-fits = エージェント、tool 呼び出し、長い共有プロンプトといったプレフィックス重視の構造化トラフィックが大半で、ハードウェアの混在やモデルの入れ替えもある場面。モデルと量子化が公式の対応表に載っていることが前提です。
engine-sglang-card-fits-not = リクエスト間でプロンプトがほとんど共有されず、この枝を選ぶ理由がなくなるとき。モデルが対応表にないとき。パーサ不一致などが起きやすく、記事は比較前に対応表を確認するよう求めています。
engine-sglang-card-prepares = ビルド工程はありません。起動時に重みを読み、KVキャッシュを確保し、CUDA グラフを取り込みます。初回の起動ではカーネルのコンパイルが入ることがあるため、cold start と warm start を分けて測ります。
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
tier-as-found = 指定なし（そのままの状態から）
tier-download = 指定：download（重みの取得から）
tier-disk-cold = 指定：cold（ディスクから。コンパイルキャッシュは空）
tier-warm = 指定：warm（重みもキャッシュも残った状態）
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
payback-note = 準備時間は、ビルド、起動、最初のリクエストの合計で、最初のトークンが出るまでです。損益分岐は、長いほうの準備が終わってからこの負荷をどれだけ続ければ、準備の間に出力できなかった分を取り戻せるかを示します。同じ試合の最初の行を基準にします。
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
cache-disk-cold = ディスク（cold）
cache-warm = ページキャッシュ（warm）
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
coverage = 採点できた割合
coverage-share = { $share } %
coverage-low = 98 % 未満のため判定しません
finish-reasons = 終わり方：{ $reasons }
lack-echo-broken = そこでは非対応：与えた文の尤度をエンジンが返しません
lack-echo-not-exposed = そこでは非対応：エンジンに尤度を尋ねる手段がありません
lack-echo-not-probed = そこでは非対応：尤度を返すかどうかを確かめていません
lack-no-tokenizer = そこでは非対応：モデルのトークナイザを読めませんでした
arms-caption = 制約が加えるもの
arms-note = 同じ質問を、自由に、それぞれの JSON スキーマのもとで、もう一度自由に、と 3 回尋ねます。時間は 2 回目と 3 回目を比べます。1 回目は、後の 2 回のためにプレフィックスキャッシュを温めるからです。値は、どちらも最後まで答えた問題についての中央値です。
arm = 尋ね方
arm-free = 自由
arm-constrained = スキーマのもとで
arm-free-again = もう一度自由に
arm-fields = 正しい項目の割合
arms-sentence = 後の自由な回答と比べて、制約のもとで正しい項目が増えた問題は { $items } 問中 { $gained } 問、減った問題は { $lost } 問です。2 回の自由な回答どうしは { $repeats } 問で異なります。
arms-untimed = どちらも最後まで答えた問題がないため、時間は比べません。
arms-latency = 1 回答あたり { $added } ms を加えます（{ $timed } 問）。
arms-per-token = 回答の 1 トークンあたりでは { $added } ms、回答の長さは { $tokens } トークンの差です。

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
contrasts-same-none = 応答ではなく数値を求めるタスク
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
contrast-sentence = { $n } 問での差は { $difference } { $unit } [{ $low }, { $high }] です（下がった問題 { $down }、上がった問題 { $up }）。{ $visible }。{ $verdict }。
contrast-visible = 見分けられる最小の差は { $difference } { $unit }です
contrast-visible-none = この問題数では、どのような差も見分けられません
contrast-verdict-shown = { $margin } ポイントを超える低下はないと言えます
contrast-verdict-not-shown = { $margin } ポイントを超えて低下しています
contrast-verdict-undecided = 許容幅 { $margin } ポイントに収まるかどうかは未確定です
contrast-verdict-noise = 繰り返すだけで、これだけのばらつきが出ます
contrast-no-coverage-low = 採点できた問題が 98 % に満たないため、判定しません
contrast-no-coverage-apart = 採点できた割合が 2 つの実行で 1 ポイントを超えて異なるため、判定しません
contrast-no-no-margin = この単位での許容幅が示されていないため、判定しません
contrast-no-item = 両方の実行で採点できた問題がありません。
contrast-lanes = 応答の違いが現れ始めるところ：{ $lanes }。
contrast-lanes-none = 尋ねたどの段階でも、応答は同じです。
contrast-prompts = { $n ->
    [0] プロンプトの長さの数え方は、どの問題でも両側で同じです。
   *[other] プロンプトの長さの数え方が { $all } 問中 { $n } 問で異なります。トークナイザかチャットテンプレートの違いです。
  }
unit-points = ポイント
unit-percent = %
unit-bits = ビット/バイト
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
chart-note = 同じエンジンは、どの図でも、どの週でも同じ色と同じ印です。最初の起動プロファイルは塗りつぶした印と実線、2 つ目以降は白抜きの印と破線で描きます。エンジン以外のものは濃淡か模様で描きます。
chart-data = この図のデータ
chart-empty = 描く値がないため、図はありません。
axis-log = { $title }（対数目盛）
chart-mean = { $title }、平均
chart-throughput = { $arrival ->
    [closed] 同時実行数に対する 1 秒あたりの出力トークン数
    [constant] 等間隔で送るリクエスト数に対する 1 秒あたりの出力トークン数
    [poisson] ポアソン到着で送るリクエスト数に対する 1 秒あたりの出力トークン数
    [trace] 記録の間隔で送るリクエスト数に対する 1 秒あたりの出力トークン数
   *[rate] 送るリクエスト数に対する 1 秒あたりの出力トークン数
  }
chart-throughput-desc = { $arrival ->
    [closed] 実行は { $n } 件で、起動条件ごとに 1 本の線です。横軸は同時実行数（クローズドループ）、縦軸は 1 秒あたりの出力トークン数で、0 から始まり、起動の平均を示します。縦棒は起動間の 95 % 区間です。起動が 1 回だけのものに区間はありません。同じ負荷の印は横に少しずらして描きます。無効な段は含みません。
   *[rate] 実行は { $n } 件で、起動条件ごとに 1 本の線です。横軸は 1 秒あたりに送る予定のリクエスト数（オープンループ）、縦軸は 1 秒あたりの出力トークン数で、0 から始まり、起動の平均を示します。縦棒は起動間の 95 % 区間です。起動が 1 回だけのものに区間はありません。同じ負荷の印は横に少しずらして描きます。無効な段は含みません。
  }
chart-throughput-x = { $arrival ->
    [closed] 同時実行数
    [constant] 送る予定、req/s・等間隔
    [poisson] 送る予定、req/s・ポアソン到着
    [trace] 送る予定、req/s・記録の再生
   *[rate] 送る予定、req/s
  }
chart-throughput-y = 出力、tok/s
chart-share-y = リクエストの割合
chart-panels = { $all } 段の負荷のうち { $n } 段を描いています。表には全段があります。
chart-ttft = { $arrival ->
    [closed] TTFT の分布（クローズドループ）
    [constant] TTFT の分布（等間隔の到着）
    [poisson] TTFT の分布（ポアソン到着）
    [trace] TTFT の分布（記録の再生）
   *[rate] TTFT の分布（オープンループ）
  }
chart-ttft-desc = 実行は { $n } 件で、起動ごとに 1 本の線、負荷ごとに 1 つの枠です。横軸は実際の送信から数えた TTFT（ミリ秒）、縦軸はその時間までに最初のトークンが届いた成功リクエストの割合です。印は 2 分の 1 の位置です。線は、証拠にある分位点の間を直線で結んだものです。同じエンジンの線どうしの開きが、起動ごとの違いです。無効な段は含みません。
chart-ttft-x = TTFT、ms
chart-tpot = { $arrival ->
    [closed] TPOT の分布（クローズドループ）
    [constant] TPOT の分布（等間隔の到着）
    [poisson] TPOT の分布（ポアソン到着）
    [trace] TPOT の分布（記録の再生）
   *[rate] TPOT の分布（オープンループ）
  }
chart-tpot-desc = 実行は { $n } 件で、起動ごとに 1 本の線、負荷ごとに 1 つの枠です。横軸は 2 個目以降の出力トークン 1 個あたりのミリ秒で、リクエストごとに 1 つの値です。縦軸はその値以下だった成功リクエストの割合です。印は 2 分の 1 の位置です。線は、証拠にある分位点の間を直線で結んだものです。同じエンジンの線どうしの開きが、起動ごとの違いです。無効な段は含みません。
chart-tpot-x = TPOT、ms
chart-preparation = 起動ごとの準備時間の内訳
chart-preparation-desc = 起動は { $n } 回で、1 回 1 本です。横軸は 0 からの秒数で、内訳を順に並べ、末尾に合計を書いています。起動の内訳はエンジン自身の報告です。報告がないとき、または内訳どうしが重なるときは、起動を 1 つにまとめて描きます。ビルド工程のないエンジンにビルドの部分はありません。run_id の横は、重みの読み込み元です。
chart-preparation-x = 秒
chart-launch = { $run }、重みの読み込み元：{ $cache }
part-build = ビルド
part-download = ダウンロード
part-load = 重みの読み込み
part-compile = コンパイル
part-warm-up = ウォームアップ、グラフの記録
part-start = 起動（内訳なし）
part-first = 最初のトークン
part-all = 合計、秒
part-seconds = { $part }、秒
part-not-told = エンジンの報告なし
part-not-fetched = 取得なし
chart-engine = エンジンの混み具合の推移
chart-engine-desc = 起動条件ごとに最初の起動を描き、実行は { $n } 件です。横軸は時間で、負荷の段を同じ幅で順に並べ、段の負荷とかかった時間を上に書いています。上の枠はリクエスト数で、実線が処理中、点線が待機中です。下の枠は KV キャッシュの使用率です。値はエンジン自身のカウンタを 1 秒ごとに読んだもので、複数回分を 1 点にまとめたところは最大値です。
chart-engine-x = 各段の中の時間
chart-level = { $load } · { $took }
chart-running = 処理中のリクエスト
chart-waiting = 待機中のリクエスト
chart-kv = KV キャッシュの使用率
chart-no-kv = KV キャッシュの使用率：このエンジンは公開していません
chart-no-requests = 処理中と待機中のリクエスト：このエンジンは公開していません
chart-not-exposed = 公開なし
chart-most-running = 処理中の最大
chart-most-waiting = 待機中の最大
chart-most-kv = KV 使用率の最大
chart-points = 点の数
chart-quality = 品質の差と区間
chart-quality-desc = 比較は { $n } 件で、タスクごとに並べています。横軸は同じ問題での「後の実行 − 先の実行」で、単位は 100 点満点のポイントです。横棒は 95 % 区間、色と印は後の実行のエンジンです。破線は決めておいた許容幅で、それを超える低下は破線の左に出ます。同じ起動条件の繰り返しと、単位が bits per byte のタスクは、比較の表だけに載せています。
chart-quality-x = 差、ポイント
chart-margin = 許容幅 { $margin }
chart-minus = { $second } − { $first }
chart-task = タスク
chart-difference = 差、ポイント
chart-interval = 95 % 区間、ポイント
chart-margin-title = 許容幅、ポイント
path-drawing = { $workload } の道筋
path-drawing-desc = 上から下へ { $n } 個の質問です。左に太い線のある箱はゲート、破線の箱は未確定です。矢印の横は答えで、数値があれば添えています。根拠も含めた同じ内容が下の表にあります。
path-drawing-question = { $n }. { $question }
path-drawing-asked = { $asked }、{ $source }
path-drawing-answer = { $answer }：{ $value }
path-drawing-closed = { $answer }：{ $reason }。この枝は閉じています。
path-drawing-turned = { $answer }。ただしその枝は閉じているため、もう一方へ進みます
path-drawing-either = { $answer }。どの答えでも行き先は同じです
path-drawing-then = はいの場合
path-drawing-otherwise = いいえの場合
path-drawing-not_applicable = 質問が当てはまらない場合

## 並べられるか

side-by-side = 同じ試合の行と並べられるか
comparable = 比較できます
not-comparable = 比較できません
metric-footnotes = 脚注
footnotes = 脚注 { $n }
not-supported = 非対応
standing-claims = 主張：どの数字も、エンジン自身のプロセスが GPU で計算していることを確認しながら計測しました（real-gpu）。
standing-observations = 観測：この数字から性能は主張できません。意思決定の規則にも使いません。
standing-generated = 生成した数字：どのエンジンのものでもなく、何の根拠にもなりません。
standing-both = real-gpu の行の数字は主張、ほかの行の数字は観測です。観測は意思決定の規則に使いません。
caveat-not-comparable = 並べられない実行があります。その列と行に、直す順に理由を載せています。
workload-not-supported = 非対応：この workload に必要な機能（{ $what }）を事前確認で確かめられなかったため、負荷を送っていません
value-not-recorded = 記録なし
value-not-set = 指定なし
mismatch-line = { $what }：{ $why }
mismatch-line-values = { $what }：{ $why }（{ $values }）
mismatch-betrayed = 負荷の記録から分かる
betrayal-line = { $what }（{ $values }）
betrayal-value = { $runs }：{ $words }
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
consequence-capability = これを必要とする workload は非対応
consequence-record = 記録のみ
probe-models = モデル名
probe-tokenize = トークナイザへの問い合わせ
probe-local-tokenizer = モデルのファイルにあるトークナイザー
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

## これまでの決定

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
term-server-late-text = 参照エンジンが自分の予定からどれだけ遅れたか。計測器の誤差ではない。転送（リクエストをソケットに渡してからサーバが読み終えるまで）も同じく計測器の誤差ではない
term-path = 経路（path_id）
term-path-text = 問いからスコアまでの間にあるものすべて。重み、数値の形式、エンジンとその版、起動設定、チャットテンプレート、パーサ、文法バックエンド、サンプリングを決めるもの。path_id はそのダイジェスト。
term-flip = 変化した問題
term-flip-text = 2 つの実行でスコアの異なる問題。スコアの平均が同じでも、上下の変化が打ち消し合っていることがあるため、両方の向きを数えます。
term-visible = 見分けられる最小の差
term-visible-text = 実際に差があるとき、その問題数で 5 回に 4 回は見つけられる差の大きさ。これより小さい差が見つからなくても、差がないとは言えません。
term-margin = 許容幅
term-margin-text = チームがあらかじめ示した、受け入れられる低下の幅。区間全体が収まれば、それを超える低下はないと言えます。区間がまたぐときは未確定です。
term-decision-path = 道筋（決定木）
term-decision-path-text = 1 つの workload がたどる問いの並びです。最初の問いから、至ったエンジン、または未確定の問いまでを指します。スコアの経路（path_id）とは別のものです。
term-gate = 関門
term-gate-text = 道筋が至ったエンジンについての問いです。ライセンス、ハードウェア、サポート表、API、準備時間、品質があります。「いいえ」なら、理由を示して枝を閉じます。
term-undecided = 未確定
term-undecided-text = 区間が条件をまたぐか、起動 1 回で区間がないことです。道筋はそこで止まり、両方の枝を示します。
term-break-even = 損益分岐
term-break-even-text = 準備が長くなる分 ÷ 出力が増える割合です。この負荷でそれだけの時間が過ぎると、ビルドの元が取れます。出力が増えなければ、元は取れません。
term-run-id = run_id
term-run-id-text = 1 回の実行の名前。性能と品質を同じ run_id に残す
term-claim = 主張
term-claim-text = real-gpu の実行から得た数字を含む文。意思決定の規則に使えるのは主張だけである
term-observation = 観測
term-observation-text = それ以外の実行の数字。ラベルを付けて示すが、意思決定の規則には使わない
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
engine-use-value = 同時に処理したリクエスト 最大 { $running }、待機 最大 { $waiting }、KVキャッシュの使用率 最大 { $kv }、プレフィックスキャッシュから得た入力トークン { $prefix }、プリエンプション { $preemptions }、入力トークン { $prompt }、出力トークン { $generated }（ウォームアップを含む）
card-gpu-use = 負荷中の GPU
gpu-use-value = GPU { $gpus } 基を確認。エンジン自身のプロセスの計算は{ $seen ->
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
card-key = モデルの名前とダイジェストを作った鍵
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

## 週次版

weekly-title = エンジン検証ラボ { $week } 週
weekly-revision = 第 { $revision } 版
weekly-newest = （最新）
weekly-edition-name = { $week } 第 { $revision } 版
weekly-archive = 週次版の一覧
weekly-archive-note = 公開した版は書き換えません。訂正は理由を添えた新しい版とし、前の版はそのまま残します。
weekly-archive-caption = 公開した版（新しい順）
weekly-archive-cells = 公開したセル
weekly-archive-counts = { $cells } 個中 { $published } 個
weekly-archive-empty = まだ公開した版はありません。
weekly-superseded = 新しい版があります
weekly-holds = その後に取り下げ。この版には数字が残っています
weekly-shows = 取り下げをこの版に記載
weekly-news = 変わったこと
weekly-first = これより前の週の版がないため、比べる相手はありません。
weekly-quiet = { $since } から変化はありません。
weekly-cell = { $engine } · { $profile }（{ $match }）
weekly-new = 新しいセル：{ $cell }。
weekly-gone = 公開から外れたセル：{ $cell }。現在の状態：{ $state }。{ $why }
weekly-version = { $cell }：エンジンが名乗るバージョンが { $before } から { $after } に変わりました。
weekly-changed = { $since } から、起動ごとのばらつきを超えて動いた値が { $n } 個あります。表に示します。
weekly-changed-caption = 起動ごとのばらつきを超えて動いた値
weekly-changed-note = 各週の起動の平均と、差（今回 − 前回）の Welch の 95 % 区間です。区間が 0 を含まない値だけを、セルの並び順で載せます。
weekly-within = ばらつきの範囲内の値：{ $n } 個。数えるだけで、一覧にはしません。
weekly-same = 前回と同じ run のままのセル：{ $n } 個。
weekly-incomparable = 片方の版にしかない値、または区間のない値：{ $n } 個。
weekly-value = 値
weekly-before = 前回
weekly-after = 今回
weekly-difference = 差の 95 % 区間
weekly-metric-output = 出力（定常区間）tok/s
weekly-metric-goodput = goodput（req/s）
weekly-metric-ttft = TTFT p50（ms）
weekly-metric-tpot = TPOT p50（ms）
weekly-metric-startup = 起動（launch から ready まで）秒
weekly-metric-score = 品質：{ $task }
weekly-correction = この版を出した理由
weekly-correction-added = 加えた run：{ $runs }。
weekly-correction-removed = 外した run：{ $runs }。理由は各セルに記載しています。
weekly-correction-other = run は同じです。セルについての記載が変わりました。
weekly-matches = この版の試合
weekly-matches-note = セルは「計画 → 計測済み → 再計測済み（同じ spec_digest を新しく 3 回起動し、すべて欠損なし）→ 公開」と進みます。数字は公開したセルだけに載せ、ほかのセルには足りないものを書きます。
weekly-match = { $plan }：{ $table }
weekly-no-table = 未計測
weekly-report = この試合のレポート（{ $match }）
weekly-no-report = 公開したセルがまだないため、この試合のレポートはありません。
weekly-cells = 試合 { $match } のセル
weekly-no-cells = この試合にはセルがありません。計画が指定されておらず、run もまだありません。
weekly-state = 状態
weekly-state-planned = 計画
weekly-state-measured = 計測済み
weekly-state-re-measured = 再計測済み
weekly-state-published = 公開
weekly-state-left = この版の対象外
weekly-launches-title = 新しい起動
weekly-launches = { $needed } 回中 { $n } 回
weekly-missing = 入っている run、または足りないもの
weekly-needs-launches = この spec の新しい起動があと { $n } 回必要
weekly-needs-launch = エンジンには URL で接続しました。ここで起動していないため、再計測にはなりません
weekly-needs-projection = 証拠に、そのままでは公開できないものが含まれています
weekly-left = 除いた起動：{ $reasons }。
weekly-left-none = 除いた起動はありません。
weekly-left-not-measured = 最後まで計測できなかったもの { $n } 回
weekly-left-damaged = 破損 { $n } 回
weekly-left-withdrawn = 取り下げ { $n } 回
weekly-left-clock = 時計が変更され、どの週か確定できないもの { $n } 回
weekly-left-other = 別の週、または以前のエンジンバージョン { $n } 回
weekly-withdrawn = 取り下げた run
weekly-withdrawn-note = 次の run は、もう根拠として扱いません。以前の版には、その数字がそのまま残っています。
weekly-withdrawn-caption = 取り下げた run とその理由
weekly-withdrawn-none = ありません。
weekly-reason = 理由
weekly-limit-cells = セルの run は、後の週に 3 回の起動がそろうまで入れ替わりません。そのため、この週より古い数字のことがあります。計測した週は各レポートに記載しています。
weekly-limit-noise = 「ばらつきの範囲内」とは、3 回程度の起動では差を示せなかったという意味です。差がないことを示すものではありません。
weekly-limit-chance = 前の週と比べた値は { $n } 個で、それぞれ 95 % 区間を使っています。実際には変わっていない値でも、100 個あれば 5 個ほどは偶然に一覧へ載ります。
weekly-inputs = この版の入力のダイジェスト
weekly-json = このページの JSON
weekly-manifest = マニフェスト（ファイルごとの SHA-256）

## 配布資料

handout-title = 配布資料：run_id ごとに 1 表
handout-planned-title = 配布資料：計測前の試合表
handout-match = { $table }、試合 { $match }
handout-column = 列
handout-value = 固定した値
handout-empty = ________
handout-no-suite = 対象外：エンジンはシードから作った文を返します
handout-label-later = 計測時に判定し、手では書き込みません
handout-before = 試合の前に決めること
handout-runs = 対象の run（1 件 1 ページ）
handout-cells-title = 試合のセル
handout-cells-note = この資料に載せた起動の平均です。区間は起動間の Student の t による 95 % 区間です。行と列の並びは固定で、結果による並べ替えはしません。
handout-empty-note = { $match } のセルを埋めていきます。match_id がこれと同じ run だけがここに入ります。固定した列を一つでも変えると、別の試合になります。
handout-cells = 試合 { $match } のセル
handout-cells-empty = 試合 { $match } のセル（未記入）
handout-quality = 品質：{ $task }
handout-some = 値があるのは起動 { $n } 回だけです
handout-build = ビルド（秒）
handout-startup = 起動（秒）
handout-first = 最初のリクエスト（秒）
handout-counts = 準備時間を判断に含めるか
handout-levels = 負荷の段
handout-output = 出力（tok/s）
handout-requests = リクエスト（req/s）
handout-read-back = 読み戻した値
handout-conditions = 条件：指定した値と、稼働中のエンジンから読み戻した値
handout-checks = 事前確認で見たエンジンの動作
handout-digest = この資料の入力のダイジェスト
handout-no-digest = 重みのダイジェスト未指定
handout-more = ほか { $n } 件（lab match で全件を表示）
handout-quality-caption = 同じ run_id で測った品質：{ $suite }、スコア ± 標準誤差
handout-no-error = （標準誤差なし）
handout-no-levels = 計測した負荷の段がありません
handout-no-conditions = 条件の記録がありません（この証拠は条件の記録より古いものです）
handout-no-checks = 事前確認の記録がありません

### 上限

ceilings = 上限
ceilings-note = バイト数と演算数から決まる、ハードウェアの理論上の上限です。デコードの 1 ステップは重みをすべて 1 回読み、その文脈のキーとバリューを読みます。同時に走るストリームは 1 回の読み出しを分け合います。プロンプトのトークンはすべての重みと掛け合わされます。すべてのトークンを自分で計算するかぎり、どのエンジンもこれを超えません。
ceilings-caption = 各実行が上限に対して届いた割合
ceiling-stream = 1 ストリームのデコード（1 / TPOT p50）
ceiling-output = 全ストリームの出力
ceiling-prefill = 1 プロンプトのプリフィル
ceiling-share = 上限の { $share }
ceiling-of = 上限 { $ceiling } tok/s に対して { $value }、{ $bound ->
    [compute] 演算
   *[memory] メモリ
  }で決まる
ceiling-above = 上限を超えているが理由がある：{ $reasons }
ceiling-implausible = 理由なく上限を超えている：ありえない値
ceiling-not-known = ここでは上限なし
ceiling-prefill-alone = 1 ストリームのときだけ。それ以外ではプロンプトがほかを待つ
ceiling-unknown = 不明
ceiling-none = 上限なし：{ $why }
no-ceiling-no-weights = 参照エンジンには重みがない
no-ceiling-not-here = 重みがこのマシンになく、形がわからない
no-ceiling-unreadable = 重みの先頭部を読み取れなかった
no-ceiling-stored-otherwise = エンジンは重みをファイルとは別の形で持つ（成果物をビルドするか、読み込み時に量子化する）
no-ceiling-not-in-table = このアクセラレータは params/hardware.yaml にない
no-ceiling-not-measured = メモリ帯域を測定できなかった
no-ceiling-elsewhere = エンジンはラボが調べられないマシンで動いている
no-ceiling-in-cache = 重みがすべて CPU のキャッシュに収まる
no-ceiling-not-seen-on-gpu = エンジンが GPU で計算するところを確認できなかった
no-ceiling-not-recorded = この実行では限界が記録されていない
above-batching = 1 回の読み出しを何本のストリームが分け合ったか不明
above-speculative = 投機的デコード（先読み）を使っている
above-prefix-cache = プロンプトのどれだけがキャッシュから来たかをサーバーが示さない
above-processor-cache = 重みの一部が CPU のキャッシュに残る
above-measured-ceiling = 上限の測定中にほかの処理がマシンを使っていた可能性がある
concern-sums = リクエストまたはトークンの数が合わない
concern-above-ceiling = ハードウェアの限界を超えている（上限の倍数）
metric-ceiling = 出力の上限に対する割合（{ $load }）
metric-ceiling-any = 出力の上限に対する割合（負荷ごと）
card-ceiling = 上限を決めるもの
card-ceiling-source = ハードウェアの値の出典
card-kv = KVキャッシュ
card-sums = エンジンとクライアントの計数
card-counted = 負荷から分かること
card-counted-value = 成功 { $requests } 件：入力 { $input } トークン（うちキャッシュ：{ $cached }）、出力 { $output } トークン。回答の終わり方：{ $ends }。チャンクの間隔：中央値 { $median } ms、平均 { $mean } ms
ceiling-cpu = このマシンの CPU
ceiling-no-compute = 不明のため、プリフィルの上限はメモリだけで決まる
ceiling-machine = { $place }、{ $many ->
    [no] { "" }
   *[yes] × { $ranks }、{ "" }
  }{ $bandwidth } GB/s（{ $how ->
    [table] 表の値
   *[measured] 起動前に測定
  }）。1 ストリームの 1 トークンごとに重み { $read } GB を読む。行列積の速さ：{ $compute }
kv-value = 1 トークン { $bytes } バイト。{ $memory } GB に重みと並べて、ほかに何もなければ { $capacity } トークン入る
kv-unknown = 費用が不明（{ $why }）。上限には含めず、そのぶん上限は高くなる
no-kv-sliding-window = 一部の層は窓だけを保持する
no-kv-latent = キャッシュは潜在ベクトルを持つ
no-kv-state-space = 一部の層は状態を保持する
no-kv-not-stated = 重みに記載がない
no-kv-format-unknown = この KV 形式の大きさは一覧にない
not-counted = 計数なし
sums-agree = 合っている
sums-differ = 合わない
sums-open = 突き合わせできない
sums-value = 出力トークン：クライアント { $output }、エンジン { $engineoutput }（{ $outputverdict }）。入力トークン：クライアント { $prompt }（うちキャッシュ { $cached }）、エンジン { $engineprompt }（{ $promptverdict }）。ウォームアップを含む
term-ceiling = 上限
term-ceiling-text = そのモデルでマシンが出せる最大値。メモリ帯域を 1 トークンのバイト数で、または行列積の速さを 1 トークンの演算数で割ったもの。届いた割合は残りの余地を示し、優劣を示すものではない

## 他者の記録と、記録から読み取れること

betray-model-name = モデル
betray-model-revision = モデルのリビジョン
betray-model-weights = 重みのダイジェスト
betray-quantization = 重みの量子化
betray-chat_template = チャットテンプレート
betray-thinking = 回答前の思考（thinking）の有無
betray-temperature = 温度（temperature）
betray-install = エンジンの導入方法
betray-sampling = その他のサンプリング設定（top_p、top_k、min_p）
betray-workload-name = workload の名前
betray-workload-arrival = 到着の規則
betray-workload-concurrency = 同時リクエスト数
betray-workload-requests = 計測したリクエスト数
betray-workload-input_tokens = 指定した入力の長さ（トークン）
betray-workload-output_tokens = 指定した出力の長さ（トークン）
betray-workload-exact_output = 途中で止めないよう指示したか
betray-workload-warmup_requests = ウォームアップのリクエスト数
betray-engine = エンジン
betray-engine_version = エンジンの版
betray-workload-read = 1 リクエストで読んだトークン数
betray-workload-wrote = 1 リクエストで書いたトークン数
betray-workload-seed = プロンプトのシード
betray-machine-name = マシンの種類
betray-machine-accelerators = GPU の数
betray-isolation = ほかに何も動いていなかったか
betray-cache_state = 起動前の状態（キャッシュ、重み）
betray-none-head = 比較できます。妨げるものはありません
betray-head = 比較できません。理由は { $reasons } 件（{ $topics } 分野）、会議で直すべき順に示します
betray-footnote = 注記：
betray-footnotes = 注記（比較を妨げないもの）
betray-unknown = これらの記録からは分からないこと
betray-fix = まず：{ $what }
betray-fix-model = リビジョンをコミットで 1 つに決め、重みのダイジェストを照合します。量子化が別のコピーは、別のモデルです。
betray-fix-quantization = 重み・活性値・KVキャッシュを分けて決め、KV の形式は稼働中の各エンジンから読み戻します。
betray-fix-prompt = 同じ 3 つの会話のトークン数を各エンジンに数えさせます。数が揃うまでは、テンプレート・思考・本文のどれかが違います。
betray-fix-workload = 出力長を固定する（ignore_eos）か、同じ理由で終わった回答だけを比べます。
betray-fix-settings = コンテキスト長・同時シーケンス数・プレフィックスキャッシュ・投機的デコードを全エンジンで決め、版を固定したリリースを使い、値を読み戻します。
betray-fix-hardware = 1 台のホストで計測するか、同じエンジンで 2 台が同じ数字になることを先に示します。
betray-fix-measurement = 1 つのツールで計測し直します。ウォームアップは別のプロンプトで、同じプロンプトは 2 度送らず、起動は 3 回以上やり直します。
sign-differs = { $what }：異なる
sign-not-recorded = { $what }：記録のないものがあり、比較できない
sign-not-recorded-anywhere = どの記録にもないため比較できない：{ $fields }
sign-kv-named-or-resolved = KVキャッシュの形式：指定した名前しか分からない記録と、実際の形式まで分かる記録がある。「auto」が同じ形式になることも、名前が同じでスケールが違うこともある
sign-kv-named-or-resolved-value = 指定：{ $named }、実際：{ $resolved }
sign-prompt-tokens = 同じ workload なのに、読んだトークン数が違う。テンプレート、システムプロンプト、思考タグ、BOS、または本文が違う
sign-prompt-tokens-value = 入力 { $total } トークン、1 リクエスト平均 { $mean }
sign-same-prompt = 同じ ID のプロンプトの長さが違う。テンプレートだけなら差は一定のはずで、差がばらつくならトークナイザーか本文も違う
sign-same-prompt-value = トークン数：{ $lengths }{ $offset ->
    [none] { "" }
    [constant] （最初の記録と共通の { $shared } 件で、どれも { $least }）
   *[varies] （最初の記録と共通の { $shared } 件で { $least } から { $most }、一定ではない）
  }
sign-prompt-length = プロンプトが、workload の名前や指定どおりの長さではない
sign-prompt-length-value = 指定 { $asked }、実際の平均 { $mean }
sign-answer-length = 回答の長さが違う。デコードした量も平均の文脈長も異なり、リクエストあたりの値に響く。すべてが上限で終わる場合は、思考（thinking）が有効だった可能性もある
sign-answer-length-value = 出力 { $total } トークン、1 リクエスト平均 { $mean }{ $full ->
    [yes] （すべて上限まで）
   *[no] { "" }
  }
sign-same-question = 同じ ID のプロンプトへの回答の長さが違う。サンプリングは同じはずである
sign-same-question-value = トークン数：{ $lengths }
sign-finish = 回答の終わり方が違う。自ら終えたものと、上限で切れたものがある
sign-finish-value = { $reasons }{ $of ->
    [all] { "" }
   *[rows] （ファイルにある行のうち）
  }
sign-version-kind = 版を固定したリリースでないものがある。ブランチや単独のコミットには、リリースにない変更があり得る（その逆も）
sign-version-kind-value = { $kind ->
    [release] リリース
    [candidate] プレリリース
    [branch] ブランチまたは開発版
   *[commit] コミットのみ
  } { $version }
sign-speculation = 投機的デコード（先読み）の方式や設定が違う。ドラフトのモデル、1 ステップのトークン数、採択率が違い得る
sign-speculation-value = 方式：{ $how }
sign-hosts = マシンの名称は同じだが、ホストまたはドライバーが違う
sign-hosts-value = { $hosts }
host-fingerprint = 識別値 { $value }
host-driver = ドライバー { $value }
host-cuda = CUDA の版 { $value }
host-kernel = カーネル { $value }
host-memory_gb = メモリ { $value } GB
host-gpus = GPU の識別値 { $value }
sign-chunks = チャンクの間隔は 1 トークンの時間ではない。「ITL」の分位点も並べられない
sign-chunks-value = { $how ->
    [bursts] 大半のチャンクが直前のものと同時に届く
    [several] 1 チャンクに約 { $tokens } トークン
   *[single] 1 チャンクに約 1 トークン、1 つずつ届く
  }（間隔の中央値：{ $median }、平均：{ $mean }、1 トークンの時間：{ $tpot }）
sign-warmed-by-warmup = ウォームアップで送ったプロンプトを、あとで計測している。プレフィックスキャッシュに載ったあとの値である。行ごとの記録がないファイルについては、問題がないとは言えない
sign-warmed-by-warmup-value = { $prompts } 件が重複、TTFT はウォームアップ → 計測：{ $times }
sign-sent-again = 稼働中の 1 つのエンジンに、同じプロンプトを何度も送っている。プレフィックスキャッシュがあれば、2 回目以降は計算しない
sign-sent-again-value = { $rounds } 回の反復、プレフィックスキャッシュ：{ $cache ->
    [on] 有効
    [off] 無効
   *[unknown] 記録なし
  }
sign-first-round = 1 回目の反復の TTFT が 2 回目以降と違う。各反復は同じ条件の繰り返しとは言えない
sign-first-round-value = 平均 { $mean }、p99 { $p99 }
sign-one-round-shown = 記録の数字は反復のうち 1 回のもので、平均ではない
sign-one-round-shown-value = 全 { $rounds } 回のうち { $number } 回目
sign-prompts-again = 1 つの実行の中で、元データのプロンプトを繰り返し送っている。プレフィックスキャッシュに載っている
sign-prompts-again-value = { $requests } 件中 { $again } 件、プレフィックスキャッシュ：{ $cache ->
    [on] 有効
    [off] 無効
   *[unknown] 記録なし
  }
sign-cached = workload が共通にした分より多くの入力トークンが、プレフィックスキャッシュから来ている
sign-cached-value = 入力 { $read } トークンのうち { $cached }（{ $share }）、計画では { $planned }
sign-other-tasks = スコアのタスクが違う。または同じタスクでも、問題・例示・バージョンが違う
sign-other-tasks-value = { $tasks }
sign-score-path = スコアは、エンジン・テンプレート・数値形式を合わせた経路のもの。経路のすべてが記録されていないため、スコアどうしは比べない
sign-score-path-value = スコア { $scores } 件、記録なし：{ $missing }
sign-other-tool = 計測したツールが違う。指標は同じ名前でも定義が違う
sign-other-tool-value = ツール { $tool }
sign-imported = ここで計測したものではない。計測し直すまで、この記録から主張はできない
sign-imported-value = ラベル { $grade }
unknown-cause = 記録どうしの差の原因。複数の条件が同時に違うため、速さの差をエンジンのものとは言えません。
unknown-text = 送った文章。プロンプトは名前か数だけで、本文は残っていません。
unknown-success = 成功が本当に成功か。途中で切れた応答やエラーを含む応答の扱いは、ツールによって違います。
unknown-launches = 起動ごとのばらつき。1 つのエンジンでの繰り返しは起動のやり直しではないため、区間は出せません。
unknown-rows = 欠けている行の内容。ファイルには一部のリクエストしかありません。
unknown-rows-value = 計測 { $requests } 件のうち { $rows } 行（ウォームアップの行を含む）
unknown-unnamed = 次の起動引数が数字に与える影響。ラボにはエンジンに依らない名前がありません。
unknown-unnamed-value = 引数：{ $names }
unknown-notes = 自由記述の内容（KV の形式、そのトークン数、思考の有無を除く）。注記は保管するだけで、比較しません（lab show で読めます）。
unknown-notes-value = 注記 { $notes } 件
unknown-quality = 回答の良し悪し。同じ実行での品質は計測されていません。
unknown-scored = 回答が最後まで書かれたかどうか。ファイルには終了理由がなく、空の回答・途中で切れた回答・エラーも、誤答として採点されます。

## 他者の記録のページ

imported-title = 他者の記録
imported-note = よそで、別のツールで計測されたものです。このページだけに置き、レポートのどの表にも載せず、どの規則も読まず、主張の根拠にもしません。
imported-private = ほかに { $count } 件の記録は非公開のままです。ライセンスの記載がない、公開を認めていない、または必要なクレジットが示されていないためです。
imported-from = 取り込んだものと、その出どころ
imported-engine = エンジンと版
imported-model = モデル、リビジョン、量子化
imported-machine = マシン
imported-workload = 作業負荷（workload）
imported-tool = ツール
imported-licence = ライセンス、クレジット
imported-file = 元のファイルの SHA-256
imported-uses = このような記録の使い道
imported-may = してよいこと
imported-may-ask = 比較の前に会議で固定すべき条件を見つける。
imported-may-again = ここで計測し直す計画に変える（lab remeasure を使う）。
imported-may-spread = 1 つの記録の中で、反復ごとの値がどれだけ離れているかを見る。
imported-may-not = してはならないこと
imported-not-claim = 主張や、答えの中の数字の根拠にする。
imported-not-table = 比較表に載せる、またはここで計測した実行と並べる。
imported-not-engine = 差をエンジンのものとする（複数の条件が同時に違うため）。
imported-not-decide = 判断の道筋の問いに答える。
imported-silent = ファイルに記録されていないこと
imported-silent-tool = ツール { $tool }（{ $records } 件）
imported-beside = 同じ名前を持つ記録
imported-values-title = ファイルに書かれている値
imported-values-note = 各ツールが計算した数字です。定義がラボと異なる指標はツールの名前のまま示し、違いを添えます。
imported-numbers = 記録 { $run }：{ $engine }
imported-metric = 指標
imported-values = 値
imported-definition = 定義
imported-ours = ラボの定義
imported-counted = 数えた値
count-of = { $name } { $n }
count-requests = リクエスト
count-succeeded = 成功
count-failed = 失敗
count-input_tokens = 入力トークン
count-output_tokens = 出力トークン
count-duration_s = 秒数

### 他者の記録の上限

above-speculative-unknown = 投機的デコード（先読み）を使ったかどうかの記録がない
ceiling-prefill-most = 最大 { $ceiling } tok/s、{ $bound ->
    [compute] 演算
   *[memory] メモリ
  }で決まる
ceiling-no-value = 最大 { $ceiling } tok/s。値の記載なし
imported-ceilings = ハードウェアが出せた最大値
imported-ceilings-note = バイト数と演算数による上限は、ここで計測した実行と同じように他者の記録にも当てはまります。上限を超えた値には理由があるか、そうでなければありえない値です。上限を下回ることは、値の正しさの証明にはなりません。TPOT と毎秒の値は、各ツールの定義によるものです。
imported-ceilings-caption = 各記録が上限に対して届いた割合
imported-record = 記録
imported-kv = KVキャッシュに入るトークン数の上限
imported-kv-no-format = 不明（キャッシュの形式の記録がない）
imported-kv-noted = { $capacity } トークン。ファイルの注記では { $noted }（{ $share }）
imported-kv-too-many = { $capacity } トークン。ファイルの注記では { $noted }：入る数を超えており、ありえない値
imported-turned = 逆算した上限
imported-at-most = この TPOT では、1 トークンのために読めたのは最大 { $gb } GB。1 トークンで読む重みがこれより大きければ、1 ステップから複数のトークンが出た（先読み）か、ありえない値である
imported-known-from = 値の出どころ
imported-machine-from-file = マシン：ファイルの記載
imported-machine-from-declared = マシン：--machine による申告（ファイルには記載なし）
imported-from-weights = { $machine }。モデルの形：--model-shape で渡された重みから読み取り
imported-shape-from-table = { $machine }。モデルの形：params/shapes.yaml、{ $source }
imported-shape-from-declared = { $machine }。モデルの形：--model-shape による申告、{ $source }
imported-open = 記録のないもの
imported-sums = 合計の整合
gap-machine = ファイルにアクセラレータの名前がない（--machine 名前 --accelerators 個数 で申告できる）
gap-machine-row = ファイルにあるアクセラレータの行が params/hardware.yaml にない（出典を添えて追加する）
gap-accelerators = アクセラレータの個数がファイルにない（--accelerators 個数 で申告できる）
gap-model = ファイルにモデルの名前がない（--model-shape パス で重みを渡せる）
gap-shape = ファイルに重みの形（層や次元）がなく、params/shapes.yaml にもこのモデルと量子化の行がない（出典を添えて追加するか、--model-shape パス で重みを渡す）
gap-lengths = 成功だけを数えた入出力の長さ（文脈は 0 とみなす）
gap-streams = 同時リクエスト数
gap-drafting = 投機的デコード（先読み）を使ったかどうか
gap-tpot = 1 トークンあたりの時間
gap-prefill-time = ほかのプロンプトを待たない TTFT（プリフィルの割合は出せない）
gap-output = 毎秒の出力トークン数
gap-kv-cost = KVキャッシュでの 1 トークンの大きさ（この方式のアテンションでは決まらない）
gap-kv-format = KVキャッシュの形式（大きさは上限に含めない）
gap-compute = このアクセラレータの行列積の速さ（プリフィルの上限はメモリだけで決まる）
gap-compute-format = 行列積の数値形式（プリフィルの上限には、表のうち最も高い値を使う）
sum-requests = リクエスト数
sum-request_rps = 毎秒のリクエスト数
sum-input_tok_per_s = 毎秒の入力トークン数
sum-output_tok_per_s = 毎秒の出力トークン数
sum-total_tok_per_s = 毎秒の全トークン数
sum-in_flight = 処理中のリクエスト数（毎秒のリクエスト数 × 平均レイテンシ）
sum-row_input_tokens = 入力トークン（行の合計）
sum-row_output_tokens = 出力トークン（行の合計）
sum-round_output_tokens = 示されている反復の出力トークン
sums-stated = { $name }：記載 { $stated }、計算 { $follows }（{ $verdict }）
sums-in-flight = { $name }：{ $stated } 個の枠に { $follows }（{ $verdict }）
sums-nothing = 互いに突き合わせられる合計が、ファイルに書かれていない

### ほかのツールの指標の定義

differs-vllm-bench-ttft = choices を含む最初のメッセージまで。本文が空のものや role だけのものも数える
differs-vllm-bench-tpot = (レイテンシ − このツールの TTFT) / (n − 1)。終了を示すチャンクまで含む。1 トークンの回答は 0 になる
differs-vllm-bench-itl = チャンク同士の間隔。終了を示すチャンクまで含む。ラボの chunk_gap_s はトークンを運ぶチャンクだけを数える
differs-vllm-bench-e2el = choices を含む最後のチャンクまで。vllm#55508 より前の版は usage のチャンクも数えたが、ファイルに版の記載がない
differs-vllm-bench-input_throughput = 入力トークン数を計測全体の時間で割ったもの。ラボにこの指標はない
differs-vllm-bench-total_token_throughput = 入力と出力のトークンを足したもの。ラボは足さない
differs-vllm-bench-total_throughput = 入力と出力のトークンを足したもの。ラボは足さない
differs-vllm-bench-request_goodput = 計測全体の時間で割り、このツール自身の時間で判定したもの。SLO はファイルにない
differs-vllm-bench-max_output_tokens_per_s = 最も多かった 1 秒の値。ラボにこの指標はない
differs-vllm-bench-max_concurrent_requests = 同時に処理中だったリクエストの最大数。ラボは指定した数を示す
differs-inference-atlas-ttft = 最初の content または reasoning_content の差分まで。tool call と、新しい項目 reasoning は数えない
differs-inference-atlas-tpot = (ストリームの終わり − 最初のトークン) / (n − 1)。usage のチャンクと [DONE] まで含む
differs-inference-atlas-itl = content または reasoning_content の差分の間隔をまとめたもの。ラボの chunk_gap_s は tool call も数える
differs-inference-atlas-e2e = ストリームの終わりまで。usage のチャンクと [DONE] を含む
differs-inference-atlas-total_tok_s = 入力と出力のトークンを足したもの。ラボは足さない
differs-inference-atlas-prefill_tok_s = 入力トークン数 /（TTFT の合計 / 同時リクエスト数）。待ち行列での待ち時間もプリフィルに数えられる
differs-inference-atlas-ram_peak_gb = マシン全体の値
differs-inference-atlas-vram_peak_gb = このツールが採取した値
differs-inference-atlas-power_avg_w = このツールが採取した値
differs-inference-atlas-power_peak_w = このツールが採取した値
differs-inference-atlas-energy_wh = このツールが計測の間で積分した値
differs-inference-atlas-gpu_util_avg_pct = このツールが採取した値
differs-inference-atlas-temp_max_c = このツールが採取した値
differs-inference-atlas-tokens_per_watt = 毎秒の出力トークン数 / 平均電力
differs-inference-atlas-bandwidth_efficiency = サイトがモデルの大きさとメモリ帯域から計算した値
differs-aiperf-time_to_first_token = 同じ時点まで。ただし接続を得る前から数える。ラボはソケットへ渡した時点から数える
differs-aiperf-time_to_first_output_token = 推論過程ではない最初のトークンまで。接続を得る前から数える。ラボはソケットへ渡した時点から数える
differs-aiperf-time_to_second_token = トークンを運ぶ最初のチャンクから 2 番目まで。ラボにこの指標はない
differs-aiperf-request_latency = トークンを運ぶ最後のチャンクまで。終了を示すチャンクは含まない。接続を得る前から数える。ラボはソケットへ渡した時点から数える
differs-aiperf-inter_token_latency = 各リクエストの (最後のトークン − 最初のトークン) / (n − 1)。ラボの tpot_s と同じ式だが、n はクライアントのトークナイザーによる
differs-aiperf-inter_token_latency-2 = 各リクエストの (最後のトークン − 最初のトークン) / (n − 1)。ラボの tpot_s と同じ式だが、引くのは 1 ではなく、最初のチャンクのトークン数
differs-aiperf-inter_token_latency-3 = 各リクエストの (最後のトークン − 最初のトークン) / (n − 1)。ラボの tpot_s と同じ式だが、一度に届いた回答は 0 になる
differs-aiperf-request_throughput = ラボの request_rps_whole と同じ。ただし最後の成功より後の失敗は計測時間に入らない
differs-aiperf-output_token_throughput = トークン数はクライアントのトークナイザーで数えたもの（チャットテンプレートを除く）
differs-aiperf-output_token_throughput-2 = ラボの output_tok_per_s_whole と同じ。ただし最後の成功より後の失敗は計測時間に入らない
differs-aiperf-output_token_throughput_per_user = 各リクエストの 1 / inter_token_latency の値
differs-aiperf-e2e_output_token_throughput = 各リクエストの出力トークン数 / レイテンシ
differs-aiperf-prefill_throughput_per_user = 各リクエストの入力トークン数 / TTFT。待ち時間もプリフィルに数えられる
differs-aiperf-goodput = 計測全体の時間で割り、このツール自身の時間で判定したもの
differs-aiperf-effective_concurrency = 処理中のリクエスト数を時間で重み付けしたもの。ラボは指定した数を示す
differs-aiperf-input_sequence_length = トークン数はクライアントのトークナイザーで数えたもの（チャットテンプレートを除く）
differs-aiperf-input_sequence_length-2 = サーバーが数えた入力トークン数
differs-aiperf-output_sequence_length = トークン数はクライアントのトークナイザーで数えたもの（チャットテンプレートを除く）
differs-aiperf-output_sequence_length-2 = サーバーが数えた出力トークン数
differs-guidellm-time_to_first_token = ラボの ttft_s と同じ時点まで。壁時計で計り、版によっては接続の時間を含む
differs-guidellm-time_to_first_output_token = 推論過程ではない最初のトークンまで。壁時計で計り、版によっては接続の時間を含む
differs-guidellm-time_per_output_token = (送信から最後のトークンまで) / n。最初のトークンまでの時間を含む。平均はトークン数で重み付け
differs-guidellm-inter_token_latency = 各リクエストの (最後のトークン − 最初のトークン) / (n − 1)。ラボの tpot_s と同じ式だが、平均はトークン数で重み付け
differs-guidellm-request_latency = 応答の終わりまで。usage のチャンクと [DONE] を含む。壁時計で計り、版によっては接続の時間を含む
differs-guidellm-requests_per_second = 時間上の分布で、平均は時間で重み付け。ラボは総数を割る
differs-guidellm-output_tokens_per_second = 時間上の分布で、平均は時間で重み付け。ラボは総数を割る
differs-guidellm-output_tokens_per_second-2 = 時間上の分布で、平均は時間で重み付け。ラボは総数を割る。トークン数はクライアントのトークナイザーで数えたもの
differs-guidellm-prompt_tokens_per_second = 時間あたりの入力トークン数。ラボにこの指標はない
differs-guidellm-prompt_tokens_per_second-2 = 時間あたりの入力トークン数。ラボにこの指標はない。トークン数はクライアントのトークナイザーで数えたもの
differs-guidellm-tokens_per_second = 入力と出力のトークンを足したもの。ラボは足さない
differs-guidellm-tokens_per_second-2 = 入力と出力のトークンを足したもの。ラボは足さない。トークン数はクライアントのトークナイザーで数えたもの
differs-guidellm-request_concurrency = 処理中のリクエスト数を時間で重み付けしたもの。ラボは指定した数を示す
differs-guidellm-output_tokens_per_iteration = 1 チャンクのトークン数
differs-guidellm-output_tokens_per_iteration-2 = 1 チャンクのトークン数。トークン数はクライアントのトークナイザーで数えたもの
differs-guidellm-prompt_token_count = 入力のトークン数
differs-guidellm-prompt_token_count-2 = 入力のトークン数。トークン数はクライアントのトークナイザーで数えたもの
differs-guidellm-output_token_count = 回答のトークン数
differs-guidellm-output_token_count-2 = 回答のトークン数。トークン数はクライアントのトークナイザーで数えたもの
differs-guidellm-request_goodput = 計測した区間の時間で割り、このツール自身の時間で判定したもの
differs-untranslated = ツールの定義（英語の原文）：{ $text }

### 端末での他者の記録

shown-run = run_id
shown-grade = { $run }（imported）：他者が計測したもの。ここで計測し直すまで、主張の根拠にはできない
shown-file = ファイル
shown-bytes = { $file }、{ $bytes } バイト、sha256 { $sha256 }
shown-tool = ツール { $tool }（版：{ $version }、取り込みプログラム：{ $importer }）
licence-yes = { $licence }（{ $credit }）：他者に見せてよい
licence-needs-credit = { $licence }：クレジットを示せば見せてよいが、示されていないため非公開（--credit で指定する）
licence-no = { $licence }（{ $credit }）：再公開を認めているか不明のため非公開
licence-not-stated = 記載なし（{ $licence }、{ $credit }）：非公開（--licence で指定する）
imported-scores = { $run } のスコア。経路が記録されていないかぎり、ほかのスコアとは比べない
shown-also = 一緒に読んだファイル
shown-incomplete = 未完了
incomplete-cancelled = 計測が中止されたか、戻らなかったリクエストがある
shown-asked = 質問のしかた
asked-through = 経由：{ $model_class }
asked-template-by-the-server = チャットテンプレートはサーバーが適用（内容は見えない）
asked-template-by-the-tool = チャットテンプレートはツールが適用
asked-template-none = チャットテンプレートなし
asked-template-not-recorded = チャットテンプレートの記録なし
asked-system-yes = システム指示あり
asked-system-no = システム指示なし
asked-system-unknown = システム指示の記録なし
asked-turns-yes = 例示は対話のターンとして送信
asked-turns-no = 例示は 1 つのメッセージにまとめて送信
asked-turns-unknown = 例示をターンに分けたかどうかの記録なし
asked-streams = 同時リクエスト数：{ $n }
asked-all = 全問
asked-limit = 問題数の制限：{ $limit }
score-task = タスク
score-version = 版
score-filter = フィルター
score-metric = 指標
score-value = スコア
score-stderr = 標準誤差
score-n = 問題数
score-n-of = { $all } 問のうち { $n } 問
score-fewshot = 例示の数
score-samples = サンプル
score-no-filter = なし
score-no-samples = フォルダーにない
score-rows = 行数：{ $n }
score-rows-missing = 採点数：{ $n }
score-agrees = 平均はスコアと一致
score-disagrees = 平均は { $mean } で、スコアと違う
score-empty = 空の回答：{ $n }
score-not-extracted = 何も抽出できなかった回答：{ $n }
score-all-zero = すべての尤度がちょうど 0：{ $n }
shown-drafts = 先読み（投機的デコード）
shown-unread = 読まなかった項目
shown-notes = 注記（自由記述）
shown-missing = 記録のない項目
shown-unit = 単位
shown-not-ours = ラボの定義と異なる：{ $definition }

## 決定木の道筋

decision-path = 道筋
decision-path-note = 選択は workload の形を通ります。しきい値の付いた問いを順にたどり、workload ごとに 1 本の道筋を出します。重み付けも合計点もありません。
decision-path-none = このページにはチームの事実が添えられていないため、道筋はたどっていません。必要なのは、事実を述べたファイルです（lab report --facts facts.yaml）。
decision-flips = 何が変われば道筋が変わるか
decision-flips-note = しきい値と申告された事実を 1 つずつ、桁の 10 分の 1 の刻みで動かし、そのたびに道筋全体をたどり直します。
decision-flips-none = 道筋がないため、何が変われば変わるかも問えません。
path-json = この道筋の JSON
path-lead-end = { "。" }
path-engine = この条件では、道筋は { $engine } に至ります
path-off-table = この条件では、道筋は比較表に載せない { $engine } に至り、数字は出しません
path-closed = この条件では、開いている枝がありません。最後に至ったのは { $engine } です
path-stopped = 道筋は、エンジンに至る前で止まります
path-stopped-gate = 道筋は { $engine } まで来て、その手前で止まります
path-grounds = { $clauses }。
clause-separator = { "。" }
clause-asked = { $clause }（条件は { $asked }）
path-quality = 品質：{ $against } の列に対して、最も下がったタスクの低下は { $value } です（条件は { $asked }）。
path-quality-kept = 品質：{ $against } の列に対して、下がったタスクはありません。伸びが最も小さいタスクの伸びは { $value } です（条件：低下は { $asked }）。
path-preparation = 準備時間は { $value } です（条件は { $asked }）。
path-branch-closed = { $engine } への枝は閉じています。理由：{ $reason }。
sentence-end = 。
path-open = 未確定の問い：{ $question }（{ $why }）。
path-ahead-then = 「はい」なら、{ $end }。
path-ahead-otherwise = 「いいえ」なら、{ $end }。
path-ahead-not_applicable = 問いが当てはまらないなら、{ $end }。
path-next = 次にすること：{ $what }
path-instead = 次が成り立てば、{ $end }：{ $change }。
path-pays = そのとき、準備が長くなる { $minutes } 分は、この負荷で約 { $hours } 時間後に元が取れます。
path-of = これは workload「{ $workload }」の道筋です。{ $day } までに見直します。
path-about = 決定木 { $decision }（{ $digest }）。事実は { $by } が { $on } に述べたものです。{ $day } までに見直します。
path-generated = 説明のための例です。この道筋の主張は、生成した数字によるものです。
path-observations = harness-check または imported の実行が { $n } 件あります。どの規則もこれを読みません。
path-caption = workload「{ $workload }」の道筋：問いを順に
path-source = 誰が答えるか
path-threshold = 条件
path-consequence = その結果
path-gate = { $engine } の前の関門
path-column = { $engine } の列
path-stated = { $by } が申告、{ $on }
path-counted = { $n } リクエストで集計
path-launches = 起動 { $n } 回ずつ
path-over-items = 区間はスイートの問題についてのもの、タスク { $task }
path-stops = 道筋はここで止まります。
path-turned = この枝は閉じているため、「いいえ」の枝へ進みます。
path-either = どの答えでも同じエンジンに至るため、道筋は先へ進みます。
path-either-open = 未確定の問いが残りますが、行き先は変わりません：{ $question }（{ $why }）。
path-on = 道筋は先へ進みます。
gate-open = 関門は開いています。
gate-closed = 枝を閉じます。理由：{ $reason }。
column-added = { $engine } の列を立てます。列を立てることは採用ではありません。
column-not-added = { $engine } の列は立てません。
source-declared = チームの申告
source-traffic = チーム自身のトラフィック
source-lab = ラボの計測
reply-yes = はい
reply-no = いいえ
reply-undecided = 未確定
reply-not-measured = 未計測
reply-not-applicable = 対象外
change-answer = 「{ $question }」の答えが「{ $answer }」である
change-threshold = 「{ $question }」のしきい値が { $now } ではなく { $then } である
question-of = { $engine }：{ $question }
stand-in = エンジン { $engine }
number-unit = { $number } { $unit }
value-interval = { $value } [{ $low }, { $high }]
value-no-interval = { $value }（区間なし）
without-end = 上限なし
never-pays = 元は取れません（出力が増えない）
either = はい・いいえ
at-least = { $value } 以上
at-most = { $value } 以下
unit-h = 時間
unit-loss-points = { $n ->
   *[other] ポイント
  }
unit-in-flight = 件
end-engine = { $engine } に至ります
end-off-table = 比較表に載せない { $engine } に至ります
end-closed = 枝の閉じた { $engine } で行き止まりになります
end-stopped = 未確定の問い「{ $question }」で止まります
end-stopped-gate = { $engine } の手前、未確定の問い「{ $question }」で止まります
open-one-launch = { $value }。起動 1 回では区間がないため、未確定です
open-crosses = { $value } が条件（{ $asked }）をまたいでいます
open-no-branch = { $reason }。決定木には、その場合の枝がありません
why-not-stated = チームがまだ述べていません
why-no-run = { $engine } は計測していません
why-only-observations = { $engine } の実行は real-gpu ではないため、主張の根拠になりません
why-several-profiles = { $engine } の起動プロファイルが複数あり、どの実行かが事実ファイルにありません
why-not-comparable = { $engine } の実行は、比べる相手と並べられません
why-no-level = { $engine } には、この負荷の有効な段がありません
why-no-value = { $engine } には、この値がありません
why-attached = { $engine } は起動済みだったため、準備を観測していません
why-preparation-undecided = 準備時間を意思決定に含めるかを決めていません
why-no-contrast = { $engine } の応答は、問題ごとに比べていません
why-no-verdict = { $engine } の採点できた問題が少なく、判定できません
why-support-unknown = このモデルでの { $engine } について、サポート表に記述がありません
why-not-exposed = { $engine } では、事前確認で確かめられません
why-not-no-build-step = ビルド工程がありません
why-not-excluded-by-team = 準備時間は意思決定に含めないと、チームが決めています
why-not-itself = ほかの列を比べる相手そのものです
why-not-not-needed = この workload には必要ありません
why-not-stated-not-applicable = 問いは当てはまらないと、チームが述べています
next-state = チームが { $fact } を事実ファイルに書きます。
next-count = { $fact } をリクエストのログで集計し（未確定なら、より長いログで）、OUT.yaml を事実ファイルに加えます：lab traffic LOG --tokenizer T --facts OUT.yaml
next-run = この workload とこの負荷で { $engine } を計測します：lab run PLAN
next-runs = 区間が狭くなるよう、{ $engine } の起動を重ねます（計画の repeats）：lab run PLAN
next-items = より大きなスイートに答えさせます。必要な問題数：lab quality power
next-probe = 稼働中の { $engine } の動作を確かめるか、出典を付けて params/support.yaml に行を足します：lab show RUN_ID
next-name = { $engine } のどの実行かを、事実ファイルの run_ids に書きます：lab runs
next-match = 何が違うかを見て、先に直します：lab match RUN_ID RUN_ID
next-tree = 決定木のファイルで、{ $fact } に not_applicable を書きます。
flips-caption = 何が変われば「{ $workload }」の道筋が変わるか
flip-what = 1 つだけ変えるもの
flip-threshold = 決定木のしきい値
flip-fact = workload の事実
flip-now = 現在
flip-then = この値から変わる
flip-end = そのときの道筋
flips-none = 試した範囲では、道筋の行き先は変わりません。
flips-unmoved = ほかの { $n } 件のしきい値と事実は、1 つだけ動かしても何も変えません。
share-caption = エンジンごとに起動を { $n } 回引き直した結果
share-title = 引き直したうちの割合
share-yes = はい { $share }
share-no = いいえ { $share }
share-end = 道筋は { $end }
share-as-now = 今の道筋と同じ
break-even-caption = 損益分岐：準備が長くなる分の元が取れるまでの、この負荷での時間
break-even-pair = { $engine }（相手は { $against }）
break-even-extra = 準備が長くなる分
break-even-gain = この負荷での出力
break-even-hours = 損益分岐
break-even-note = 一方がまだ準備している間、もう一方は応答しています。その後は負荷 1 秒ごとに、出力が増えた割合だけ取り戻します。区間は、起動を重ねた出力から求めます。準備時間は平均を使います。
text-separator = { "・" }
text-step = { $source }、条件：{ $asked }、答え：{ $answer }
text-flip = { $what }：{ $now } → { $then }：{ $end }
text-row = { $first }：{ $others }
text-evidence = 証拠：{ $evidence }、{ $then }

## 週をまたぐ決定

day = { DATETIME($day, dateStyle: "long") }
weekly-of = { $week }
weekly-no-label = 環境ラベルなし（公開したものがまだありません）
weekly-answer = この回の答え：{ $match }
weekly-fixed-later = この試合で公開したセルはまだありません。固定した列は計画にあります。lab plan PLAN --handout で会議用に印刷できます。
weekly-no-facts = この試合では道筋をたどっていません。params/publish.yaml に、チームの事実ファイルの指定がありません。
weekly-since = 前の週からの変化
weekly-moved-title = 動いた値
weekly-beside = 同じセルの起動と品質
weekly-beside-start = 起動：{ $how }
weekly-beside-quality = 品質：{ $how }
beside-changed = こちらも動いた
beside-within = ばらつきの範囲内
beside-incomparable = 前の週と比べられる値なし
weekly-moved = { $what }、{ $load }：前回 { $before }、今回 { $after }。差の 95 % 区間は [{ $low }, { $high }] です。
weekly-match-new = この試合は { $since } にはありませんでした。比べる相手はありません。
weekly-withdrawn-why = { $run } を取り下げました。理由：{ $reason }
weekly-correction-paths = 次の workload の道筋、またはその根拠が変わりました：{ $workloads }。
weekly-archive-paths = 道筋の行き先
weekly-archive-path = { $workload }：{ $end }
history-note = 各行は、公開した版に書かれたものだけから作っています。そのときの道筋、今の道筋、そして両者が分かれた問いです。内容の同じ版は 1 行にまとめます。答えを変えなかった計測値の動きは行にしません。
history-no-path = 道筋を載せた版はまだありません。params/publish.yaml に、チームの事実ファイルの指定がありません。
history-caption = workload「{ $workload }」のこれまでの決定（新しい順）
history-edition = 版
history-path = 道筋
history-why = 理由
history-review = 見直しの期限
history-until = { $edition }まで同じ
history-now = 今：{ $end }
history-then = 前：{ $end }
history-as-before = 行き先は前と同じです。
history-gone = この版には、この workload の道筋がありません。
history-generated = 説明のための例です。数字は生成したものです。
history-first = この workload の最初の道筋です。決定木は { $file } です。
history-turn = 道筋はここで分かれました。{ $change }
history-answer = 「{ $question }」の答えが、{ $before }から { $after }に変わりました。
history-closed = 「{ $question }」の答えは { $now }で、枝を閉じます。
history-threshold = 「{ $question }」のしきい値が、{ $before }から { $after }に変わりました。
history-withdrawn = 根拠にしていた { $run } を取り下げました。理由：{ $reason }
history-tree = 決定木のファイルが改訂されました：{ $before } から { $after } へ。
history-beyond = 未確定の問いの先にあるものが変わりました。道筋の JSON に載せています。
history-match = 答える試合が変わりました：{ $before } から { $after } へ。
history-restated = チームが { $after } に事実を述べ直しました（前は { $before }）。
history-reply = { $value }（{ $reply }）
history-reply-why = { $reply }（{ $why }）
decided-first = { $workload }：最初の道筋です。{ $end }。
decided-same = { $workload }：道筋は { $since }から変わらず、{ $end }。
decided-moved = { $workload }：{ $since }の道筋は { $before }が、今回は { $end }。{ $why }
decided-stays = { $workload }：道筋は引き続き { $end }。その根拠が { $since }から変わりました。{ $why }
decided-gone = { $workload }：この版には道筋がなくなりました。
closed-by = { $reason }。{ $value }（条件は { $asked }）
weekly-not-published = { $engine }（公開したセルなし）
support-read = { $source }、{ $month }に確認
weekly-fixed-instrument = この試合の run は計測器の確認です。エンジンを並べないため、固定した列はありません。
## チーム自身のトラフィックの形

traffic-title = トラフィックの形
traffic-kind-openai = OpenAI API 形式のリクエスト本文：{ $records } 件の記録に { $requests } リクエスト。
traffic-kind-sharegpt = ShareGPT：{ $records } 件の記録に { $conversations } 会話。応答 1 つを、それより前のすべてをプロンプトとする 1 リクエストと数えます：{ $requests } リクエスト。
traffic-kind-mooncake = Mooncake トレース：{ $records } 件の記録に { $requests } リクエスト。
traffic-bad = 数えなかった記録：{ $n } 件、{ $why }（最初は { $lines } 行目）。
traffic-bad-not-json = JSON ではない
traffic-bad-not-utf-8 = UTF-8 ではない
traffic-bad-too-long = 64 MiB を超える
traffic-bad-array-broken = 配列がここで壊れており、以降は読んでいない
traffic-bad-not-an-object = オブジェクトではない
traffic-bad-no-request = この種類のリクエストが入っていない
traffic-bad-no-prompt = 何も尋ねていないリクエスト
traffic-bad-bad-messages = 未知の形のメッセージ
traffic-bad-bad-lengths = 長さまたはブロック番号が整数でない、または長さが 0
traffic-bad-other-endpoint = 埋め込みなど、別のエンドポイントへのリクエスト
traffic-twice = { $n } 行は、時刻や番号も含めて同じ行が先にあります。1 回だけ数えました。
traffic-twice-more = 同じ行の有無は、はじめの異なる 1,048,576 行の中でだけ調べました。
traffic-answers-last = { $n } リクエストでは最後のメッセージがアシスタントのものです。これを応答とみなしました。
traffic-failed = { $n } リクエストは失敗と記録されています。送られたものなので数えています。
traffic-lengths = 長さ
traffic-input = 入力、{ $by }
traffic-output = 出力、{ $by }
traffic-limit = リクエストが指定した応答の最大トークン数
traffic-by-tokenizer = トークン数（チャットテンプレートを除き、ここで計数）
traffic-by-server = トークン数（サーバの計数、usage）
traffic-by-file = トークン数（ファイルの記載）
traffic-by-characters = 文字数（トークン数ではない。トークナイザの指定なし）
traffic-not = { $what }：未計測。{ $why }
traffic-input-alone = 入力
traffic-output-alone = 出力
traffic-why-not-held = ファイルに記録がありません。
traffic-its-interval = その区間
traffic-its-hour = 最も混む 1 時間の同時実行数
traffic-its-arrivals = 到着
traffic-its-in-flight = 同時実行数
traffic-quantiles = { $what }：{ $n } リクエスト、平均 { $mean }、最小 { $least }、p10 { $p10 }、p25 { $p25 }、p50 { $p50 }、p75 { $p75 }、p90 { $p90 }、p99 { $p99 }、最大 { $most }
traffic-prefixes = 共有プレフィックス
traffic-prefix-tokens = トークン単位の比較：入力 { $total } トークンの { $share } が、ファイル内で同じモデルへ送られた先行リクエストと共通の書き出しです。
traffic-prefix-characters = 文字単位の比較（トークンの割合ではありません）：入力 { $total } 文字の { $share } が、ファイル内で同じモデルへ送られた先行リクエストと共通の書き出しです。
traffic-prefix-blocks = { $block } トークンのブロック単位の比較：入力 { $total } トークンの { $share } が、ファイル内の先行リクエストと共通の書き出しのブロックです。
traffic-interval = ファイルを順に区切った部分についての 95 % 区間：{ $low } ～ { $high }。
traffic-interval-blocks = ファイルを順に区切った部分についての 95 % 区間：{ $low } ～ { $high }。上端には、ブロックの一部だけが共通である分を含めています。
traffic-block-open = 長さの記録はブロックの大きさを 1 つに定めません。{ $block } トークンとしました。--block-size で指定できます。
traffic-whole = { $n } リクエストは、プロンプト全体が先行リクエストの書き出しと同じです。
traffic-within = プレフィックスを前回使ってからの間隔ごとの割合：{ $parts }。
traffic-ago = { $span }以内
traffic-ago-requests = { $n } リクエスト以内
traffic-ago-ever = 間隔を問わず
traffic-ago-share = { $when } { $share }
traffic-windows = { $span }ごとの { $n } 区間では、最小 { $low }、中央値 { $middle }、最大 { $high }。
traffic-horizon = 記憶の上限に達しました。ほかのトークンまたは文字を { $n } より多くはさんで再び現れたプレフィックスは、新しいものと数えています。
traffic-cached = サーバ自身がキャッシュから得たのは、プロンプトのトークンの { $share } です（usage の cached_tokens）。
traffic-time = 時刻
traffic-arrivals = { $span }にわたり毎秒 { $rate } リクエスト。到着間隔の変動係数は { $cv }（互いに無関係な到着なら 1）。
traffic-peak = 最も混む { $span }の到着数は、平均の { $ratio } 倍です。
traffic-dispersion = 分散指数（区間内の到着数の分散 ÷ 平均）：{ $parts }。
traffic-dispersion-part = { $span }：{ $index }
traffic-ties = 間隔 0 が { $n } 回あります。それ以外で最小の間隔は { $step }で、これより細かいことはわかりません。
traffic-moments-more = 時刻は、はじめの { $n } 件だけを使いました。
traffic-in-flight = 同時実行数（記録された時刻と所要時間から）：平均 { $mean }、最大 { $peak }。
traffic-hour = 最も混む 1 時間では平均 { $mean }、12 等分した部分についての 95 % 区間は { $low } ～ { $high }。
traffic-hour-only = ファイルの記録は { $span }です。それ以外のさらに混む時間帯はわかりません。
traffic-clock-missing = { $n } 件の記録に時刻がありません。
traffic-clock-broken = { $n } 件の記録の時刻が読み取れません。
traffic-clock-back = 時刻が { $n } 回戻っています（最大 { $span }）。プレフィックスはファイルの順、到着間隔は時刻の順で数えました。
traffic-clock-no-unit = { $n } 件の記録は、所要時間の単位がわからないため使っていません。
traffic-use = リクエストが使う機能
traffic-turns = 会話の 2 往復目以降：リクエストの { $share }。1 リクエスト中のユーザの発言数：p50 { $p50 }、p90 { $p90 }、最大 { $most }。
traffic-structured = 応答の形の指定：JSON スキーマ { $schema }、任意の JSON { $json }、正規表現・選択肢・文法 { $other }。
traffic-tools = ツールの提示 { $offers }（中央値 { $middle } 個）、ツールの呼び出しまたは結果 { $uses }。
traffic-stream = ストリーミング { $share }、指定なし { $silent }。
traffic-models = モデル名：{ $n } 種類。最も多いものはリクエストの { $most }。名前は数えるだけで、残しません。
traffic-models-more = モデル名：{ $n } 種類を超える。最も多いものはリクエストの { $most }。名前は数えるだけで、残しません。
traffic-models-mixed = 複数のモデルへのリクエストを 1 つのトークナイザで数えました。長さは、そのトークナイザのモデルについてのものです。
traffic-adapters = アダプタ（LoRA）：{ $n } 種類、リクエストの { $share }。
traffic-media = 画像、音声またはファイルを含むリクエスト：{ $share }。そのトークンは、ここでの計数に入っていません。
traffic-held = リクエストの { $share } は、履歴をサーバが保持しています。実際のプロンプトは、ここで数えた長さより長くなります。
traffic-several = { $n } 件の本文には複数のプロンプトがあります。それぞれ 1 リクエストと数えました。
traffic-token-ids = { $n } 件のプロンプトは、はじめからトークン番号です。
traffic-settings = サンプリング（指定したリクエストの割合、かっこ内は p10、p50、p90）：{ $parts }
traffic-setting = { $name } { $share }（{ $quantiles }）
traffic-answers = 決定木の問いのうち、トラフィックが答えるもの
traffic-answer = { $fact }：{ $value }、トラフィックから計測、{ $n } リクエスト、{ $window }
traffic-open = { $fact }：答えられません。{ $why }
traffic-window-none = 期間の記録なし
traffic-days = { $n } 日
traffic-why-characters = 文字数で数えましたが、問いはトークン数についてのものです。モデルのトークナイザを指定してください。
traffic-why-few-requests = { $n } リクエスト未満では区間が出せません。
traffic-why-no-prompts = 比べられるプロンプトがありません。
traffic-why-no-blocks = ブロック番号がないか、ブロックの大きさがわかりません。--block-size で指定できます。
traffic-why-no-bodies = この種類のファイルからは、リクエストが使う機能はわかりません。
traffic-why-few-bodies = 使うリクエストはありませんが、件数が少なく「いいえ」とは言えません。
traffic-why-no-moments = リクエストの時刻がファイルにありません。
traffic-why-unit-open = 時刻の起点も単位もわかりません。--time-unit で単位を指定できます。
traffic-why-few-moments = 時刻のあるリクエストが足りません（20 件以上、かつ全体の 99 % 以上）。
traffic-why-no-durations = リクエストの所要時間が、単位のわかる形でファイルにありません。
traffic-why-few-durations = 所要時間のあるリクエストが 99 % に足りません。
traffic-why-no-span = すべてのリクエストの時刻が同じです。
traffic-why-no-hour = ファイルが 1 時間より短いため、最も混む 1 時間とは言えません。
traffic-why-other-unit = 決定木の単位が、ラボの数え方と異なります。
traffic-why-not-counted = この事実はラボでは数えません。
traffic-written = workload：{ $path } と { $shape }、{ $n } リクエスト（{ $every ->
    [true] ファイルのすべて
   *[false] ファイルから { $run } 件続きで抽出
  }）。共有プレフィックスは入力の { $share } です。
traffic-left-out = 抽出したうち { $n } リクエストは、長さの一方がわからないため含めていません。
traffic-not-carried = 送るのは単なる文章で、次のものは含みません：{ $parts }。
traffic-carried-structured = 応答の形の指定（リクエストの { $share }）
traffic-carried-tools = ツール（{ $share }）
traffic-carried-media = 画像、音声またはファイル（{ $share }）
traffic-carried-adapters = アダプタ（{ $share }）
traffic-carried-sampling = 個別のサンプリング（{ $share }。計画で指定します）
traffic-next = 次のコマンド：{ $command }
traffic-facts-written = 事実のファイル：{ $path }
path-measured = トラフィックから計測、{ $on }
path-window = 期間は { $span }
path-counted-blocks = ブロック単位の計測。区間は、ブロックの一部だけが共通である分まで含む
path-horizon = { $n } トークンより離れた繰り返しは新しいものと計数
path-overruled-declared = { $by } の申告（{ $on }）は { $value }。使っていません
path-overruled-traffic = トラフィックからの計測（{ $on }）は { $value }。使っていません
path-conflict = { $fact } について 2 つのファイルが食い違っています。使ったのは { $value }（{ $source }）。{ $other }。
path-answered-declared = ここではチームの申告
path-answered-traffic = ここではチーム自身のトラフィック
## ノートブック：列を決める、実行を並べる、版のページを作る

desk-file = 計画での名前
desk-key = 計画での名前
desk-version = 版
desk-line = 行
desk-field = 項目
desk-asked = 確認する内容
desk-why = 理由
desk-open = まだ決まっていないこと
desk-questions = { $file } には、まだ { $n } 件の問いが残っています。答えるまで何も実行しません。
desk-refused = { $file } は受け付けられません：
desk-plan = { $file } は計画として読めます。起動は全部で { $runs } 回、1 つの実行につき { $launches } 回です。
desk-no-plan = 計画はまだありません。先に、上の問いと指摘に答えてください。
desk-one-run = なし（実行は 1 つ）
desk-match = { $table }、試合 { $match }。変えるもの：{ $varies }
desk-launch = 起動
desk-conditions = すべての条件と、各エンジンでの扱い
desk-source = 出典
desk-no-problem = このマシンでの実行を妨げるものはありません。
desk-problems = このマシンでの実行を妨げるもの
desk-number = 番号
desk-problem = 内容
desk-next = 次にすること
desk-rules = 試合のルール（項目ごと）
desk-role = 扱い
desk-role-equal = 同じでなければならない
desk-role-varied = 変えてよい 1 つになれる
desk-role-ignored = 見ない
desk-preflight = 数字を数える前に、動いているエンジンに確認すること
desk-apart = これらの実行は横に並べられないため、並べた図は描きません。最初に挙げた項目をそろえて計測し直すか、別の実行を選んでください。1 つの実行の数字を記録までたどることは、そのままできます。
desk-nothing-drawn = 描く値がありません。
desk-use = 図の下で指標と負荷を選びます。凡例の名前をクリックするとそれだけが濃く残り、Shift を押しながらで追加できます。点に重ねると run_id が出ます。
desk-plot-values = 負荷に対する各指標（起動間の区間つき）
desk-plot-requests = 各リクエストと、それ以下で済んだ割合
desk-plot-quality = 各タスクのスコア（設問間の区間つき）
desk-sent = 送信時刻（負荷の開始からの秒）
desk-share = リクエストの割合
desk-score = スコア（標準誤差の 1.96 倍を付記）
desk-invalid = この段階は無効：負荷を計画どおりに送れなかった
desk-number-at = 数字
desk-what = 内容
desk-value = 値
desk-again = 記録から計算し直した値
desk-formula = 計算式
desk-from = 使う記録の項目
desk-differs = 同じ名前の別の使い方
desk-records = 生の記録（非公開）
desk-whole = マニフェスト
desk-whole-yes = バンドルの全ファイルが封をしたときのまま
desk-walk = { $run }：1 つの数字から記録まで
desk-edition = この版の実行
desk-comparable = { $n ->
    [one] この実行は他と並べられます。妨げるものはありません。
   *[other] これら { $n } 件の実行は横に並べられます。1 つの試合です。
  }
desk-reasons = 理由（直す順）
desk-about = 対象
desk-all-runs = すべて

## テキストの主張を仮説として扱う

hypotheses = テキストの主張と、ここで計測した結果
hypotheses-note = 連載と記事にはいくつかの主張があります。ここではそれを仮説として扱います。変えるものは 1 つ、読む指標も 1 つ、意味のある最小の差は先に決めてあります。テキストの数値は計測値の横に印字するだけで、判定には使いません。判定が付くのは、起動間の区間がある real-gpu の実行だけです。それ以外は観察として示します。エンジンを並べ替えることはありません。
hypotheses-more = これらの実行では確かめていない主張：{ $n } 件。lab hypotheses で一覧を表示します。
hypotheses-caption = 主張・ここでの計測・条件
hypotheses-list-caption = テキストの主張
hypotheses-claim = 主張
hypotheses-condition = 条件
hypotheses-varied = 変えるもの
hypotheses-metric = 指標と、意味のある最小の差
hypotheses-measured = ここでの計測
hypotheses-verdict = 判定
hypotheses-source = { $text ->
    [primer] 連載 第10章
   *[article] 検証ラボの記事
  }、{ $line } 行目
hypotheses-figure = テキストの数値：{ $low }〜{ $high } %
hypotheses-from-to = { $field }：{ $before } → { $after }
hypotheses-levels = { $field }：同時実行 { $before } → { $after }
hypotheses-nothing = なし（すべてのリクエストがスキーマを指定）
hypotheses-load = 負荷
hypotheses-expected = { $metric }が{ $expected ->
    [rises] 上がる
    [falls] 下がる
    [stays] 変わらない
   *[never] 0 である
  }（意味のある最小の差：{ $counts } { $unit ->
    [percent] %
    [points] ポイント
   *[answers] 件
  }）
hypotheses-expected-plain = { $metric }が{ $expected ->
    [rises] 上がる
    [falls] 下がる
    [stays] 変わらない
   *[never] 0 である
  }
hypotheses-at = 同時実行 { $load }
hypotheses-on = { $engine }、{ $model }
hypotheses-on-two = { $against } に対する { $engine }、{ $model }
hypotheses-change = { $before } → { $after }：{ $effect }
hypotheses-effect-percent = { $value } %
hypotheses-effect-points = { $value } ポイント（タスク { $task }）
hypotheses-effect-answers = 完了した回答 { $items } 件のうち { $broken } 件がスキーマに合わない
hypotheses-interval = 区間 [{ $low }, { $high }]、起動は各 { $launches } 回
hypotheses-interval-items = 設問 { $items } 件での区間 [{ $low }, { $high }]
hypotheses-no-interval = 区間なし（起動は各 1 回）
hypothesis-metric-output_tok_per_s = 出力（tok/s）
hypothesis-metric-ttft_p50_s = TTFT p50（秒）
hypothesis-metric-tpot_p50_s = TPOT p50（秒）
hypothesis-metric-chunk_gap_p99_s = チャンク間隔 p99（秒）
hypothesis-metric-preparation_s = 準備の合計（秒）
hypothesis-metric-quality_loss = 品質の低下（ポイント）
hypothesis-metric-schema_broken = スキーマに合わない回答
hypothesis-verdict-holds = ここでは成り立つ
hypothesis-verdict-does-not-hold = ここでは成り立たない
hypothesis-verdict-undecided = 未決：区間からは言えない
hypothesis-verdict-undecided-launch = 未決：起動 1 回では区間がない
hypothesis-verdict-observation = 観察（判定なし）
hypothesis-verdict-not-measured = ここでは計測していません
hypothesis-verdict-untestable = どの実行でも確かめられない
hypothesis-lacks-no-pair = これだけが違う、同じ試合の 2 つの実行がない
hypothesis-lacks-condition = これが違う実行はあるが、主張の条件を満たしていない
hypothesis-lacks-not-comparable = これが違う実行はあるが、横に並べられない
hypothesis-lacks-no-level = そのような負荷の有効な段階が、そろっていない
hypothesis-lacks-no-value = この指標の値が、そろっていない
hypothesis-untestable-no-switch = これを外すスイッチを持つエンジンがなく、変えられない
hypothesis-untestable-not-of-an-engine = 開発の体制や読み手についての主張で、負荷のもとでのエンジンの動きではない
hypothesis-untestable-preflight = ここでは同じクライアントがすべてのエンジンに送る。違いは各証拠カードの確認結果にある

claim-prefix-sharing = プレフィックスを共有するリクエストは、バッチと時間をまたいで、その KV をそのまま共有する。
claim-prefix-sharing-where = 入力トークンの半分以上が共有プレフィックスであること。
claim-prefix-sharing-costs-nothing = プレフィックス共有は、ブロックテーブルの設計から無料で得られる。
claim-prefix-sharing-costs-nothing-where = 共有がほとんどなく、コストだけが現れること。
claim-chunked-prefill = チャンク化 prefill は prefill と decode を同じ反復で混ぜるので、境界が死んだ時間にならない。
claim-chunked-prefill-where = プロンプトは 1,024 トークン以上、同時実行は 4 以上。
claim-batching = 連続バッチングが遊休時間を隠す。同時実行が増えると出力も増える。
claim-batching-where = 同時実行の最も低い段から最も高い段まで（4 以上）。
claim-speculative-decoding = 投機的デコードは、トークンごとの逐次依存性を破る。
claim-speculative-decoding-where = 同時実行が少なく（4 以下）、GPU に余裕があること。
claim-kernel-fusion = 隣り合うカーネルの融合は、トークンごとの時間を縮める。
claim-kernel-fusion-where = 同じエンジンで、起動時にコンパイルするかどうかだけが違う。
claim-launch-overhead = カーネル起動は 1 回 5〜10 μs かかり、トークンあたり数千回ある。
claim-launch-overhead-where = 同時実行が少ない（4 以下）。記録したグラフは起動の手間を省く。
claim-compiling-costs-start = コンパイルは、配信の前に払う税である。
claim-compiling-costs-start-where = 同じエンジンで、起動時にコンパイルするかどうかだけが違う。キャッシュの状態は同じ。
claim-build-costs-preparation = ビルドパイプラインは、多くのチームが過小評価する税である。モデルごと、GPU ごと、バッチ体制ごとにコンパイルが要る。
claim-build-costs-preparation-where = ビルドなしで配信する TensorRT-LLM と、先にビルドする TensorRT-LLM（リリース 1.2 まで）。
claim-build-pays-in-throughput = ビルドした TensorRT-LLM は、同じハードウェアで vLLM より多くのスループットを引き出す。
claim-build-pays-in-throughput-where = NVIDIA のみ。このモデルとこの GPU のエンジンファイルを作ること。
claim-radix-cache-for-agents = エージェント的な作業負荷では、SGLang の基数木キャッシュが vLLM の数倍のスループットを出す。
claim-radix-cache-for-agents-where = 長い共有システムプロンプトと短い変種末尾。両方でプレフィックスキャッシュを有効にすること。
claim-schema-is-kept = ロジットのレベルでスキーマを強制するので、出力は検証を通過することが保証される。
claim-schema-is-kept-where = すべてのリクエストが厳密な JSON スキーマを指定する。長さの上限で切れた回答は数えない。
claim-quality-follows-quantization = 品質の低下は、エンジンではなく、量子化や経路の差として読む。
claim-quality-follows-quantization-where = 同じエンジン、同じ重みで、KV キャッシュの形式だけが違う。
claim-cold-start = コールドスタートは、意思決定で見るべき別のコストである。
claim-cold-start-where = 同じ起動を、空のキャッシュからと、温まったキャッシュから行う。
claim-no-batching-on-atlas = Atlas は継続バッチング非対応で、多ユーザー常駐では伸びにくい。
claim-no-batching-on-atlas-where = Atlas で、最も低い段から最も高い段まで（4 以上）。現在のソースはこれと異なる（2026年11月）。
claim-paged-memory = PagedAttention は断片化を 60〜80 % から 1 桁 % まで減らし、入るバッチをおおよそ倍にする。
claim-new-models-land-soon = 広いコミュニティのおかげで、新しいモデルアーキテクチャが素早く着地する。
claim-one-api = どのエンジンも OpenAI スタイルの HTTP を話すので、クライアントコードを変えずにトラフィックを移せる。
claim-batch-of-one = 「バッチ 1 の Llama-2-7B で毎秒何トークン」は、どの本番ワークロードも問わない質問への回答である。
