"""Options of the commands that ask: who is asked, where, and about what."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from elicitation.ways import PROMPTS, WayOptions


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Who is asked, where it runs, where answers are kept, and how to look without asking."""

    command: ClassVar[str]
    left_out: ClassVar[tuple[str, ...]] = ()  # options that a command does not take

    model: Any = None
    HELP = """
[model]
chat  use the chat template (default: if there is one)
*system  system message before every question of a chat model (default: none)
*prefill  what every answer of a local model begins with (default: nothing)
*dtype  precision (default: auto, float32 on a processor)
device NAME  torch device (default: a GPU if there is one)
*revision  branch, tag or commit of a model on the hub (default: its main branch)
*device_map  spreads a model over devices: auto, balanced, ... or a JSON object, as transformers
    takes it; instead of device
batch_size 1..  most texts at a time (default: what memory allows, and 64 drawn answers)
[hosted]
server URL  OpenAI-compatible server of the model, whose name there --model is
*server_name  keeps answers under this name instead of the address
api_key_env VARIABLE  environment variable that holds the API key (default: the provider's usual
    one; with --server no key)
*max_connections 1..256  questions under way (default: 8)
*timeout 1..  seconds for a question, with all waits and tries (default: 600)
reasoning_effort WORD  how much the model thinks: none, low, medium, high, ... (default: its own)
*chat_template_kwargs  arguments of the chat template, such as '{"enable_thinking": false}'
*extra_body  further fields of every request, such as '{"top_k": 20}'
[store]
store FILE  where the model's answers are kept, for resuming (default: beside the results)
keep_going  ask on where none of the first 50 answers can be read
[look]
dry_run  say how much would be asked, and how much the store has
"""

    chat: bool | None = None
    system: str | None = None
    prefill: str = ""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device: str = "auto"
    revision: str | None = None
    device_map: str | None = None
    batch_size: int | None = None
    server: str | None = None
    server_name: str | None = None
    api_key_env: str | None = None
    max_connections: int = 8
    timeout: int = 600
    reasoning_effort: str | None = None
    chat_template_kwargs: Mapping[str, Any] | None = None
    extra_body: Mapping[str, Any] | None = None
    store: str | None = None
    keep_going: bool = False
    dry_run: bool = False

    @property
    def named(self) -> tuple[str, ...]:
        """What ``--model`` names."""
        return () if self.model is None else (str(self.model),)

    @property
    def drawn_at_a_time(self) -> int:
        """How many drawn answers make a call of the model and a write to the store."""
        # A kill loses the batch under way: enough texts to keep a model busy, and no more.
        return 64 if self.batch_size is None else self.batch_size


@dataclass(frozen=True, kw_only=True)
class SubjectOptions(ModelOptions):
    """What is asked about."""

    HELP = """
[subject]
task NAME_OR_FILE  network or data set that supplies the cases, such as asia or randhie, or a
    network of your own: .bif, .xml, .xmlbif, .bifxml or .json, also as .gz
questions FILE  questions of your own instead of a network: .csv or .jsonl, see
    docs/eliciting.md#your-own-questions
target VARIABLE  variable asked about (default: the usual one of the task)
contexts 1..  number of contexts of a network (default: 200)
phrases FILE  words of a network of your own, .toml; 'coherence networks phrases' begins one
    (default: plain words made of its names)
positive STATE  without --phrases, the state of --target whose probability is asked for (default:
    the one called yes, true, present or positive)
*records  records that a network of your own was fitted to: .csv or .parquet
*min_records  records that must show the evidence of a case, where the truth comes from records
    (default: 100; 0 takes any case)
"""

    task: str | None = None
    questions: str | None = None
    target: str | None = None
    contexts: int | None = None
    phrases: str | None = None
    positive: str | None = None
    records: str | None = None
    min_records: int | None = None


@dataclass(frozen=True, kw_only=True)
class AskOptions(WayOptions, SubjectOptions):
    """Options of a session: who is asked, what, in which ways."""

    command: ClassVar[str] = "elicit"

    HELP = """
[model]
model MODEL  causal model: a folder as written by save_pretrained, a .gguf file, or OWNER/NAME of
    the hub; see docs/eliciting.md#models; or PROVIDER/NAME of a hosted model; with --server its
    name there
[look]
show_prompts 1..  print the first N different questions as they would be asked
[]
agent NAME  a simulated agent instead of a model, such as leaky; only with --task
out FILE  runs table to write: .parquet, .csv or .jsonl
"""

    model: str | None = None
    prompts: str = ",".join(PROMPTS)
    show_prompts: int | None = None
    agent: str | None = None
    out: str | None = None
