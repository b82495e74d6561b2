"""The command line's application, and what its commands share."""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from dancfr.errors import UsageError

app = typer.Typer(
    help="Train and evaluate agents for games of hidden information with Ray: DREAM, Deep Monte-Carlo and CFR on "
    "Geister, Cheat, GuanDan, poker and your own.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Command(TyperCommand):
    """A command whose help has the names of arguments only: typer would put Python's types beside them."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """``RUN...`` for what typer writes as ``{RUN}...``; brackets stay, since they mean what may be left out."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options."""
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            rows = []
            for parameter in self.get_params(ctx):
                record = parameter.get_help_record(ctx) if parameter.param_type_name == kind else None
                if record is not None:
                    name = record[0].split(" <")[0] if kind == "argument" else record[0]
                    rows.append((f"{name}..." if kind == "argument" and parameter.nargs == -1 else name, record[1]))
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


GameOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="An option of the game, see `dancfr games`; repeat for more."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")]

Preset = Annotated[str, typer.Argument(metavar="PRESET", help="Name of a preset, see `dancfr presets`.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint in --run-dir.")]
AllowChanges = Annotated[
    bool, typer.Option("--allow-changes", help="With --resume: go on under other settings than it was started with.")
]
Device = Annotated[str, typer.Option(metavar="DEVICE", help="Where nets are trained: cpu, cuda or auto.")]


def check_training(device: str, wandb: str | None) -> None:
    """Raises a UsageError for a --device or a --wandb that there is not."""
    choose("--device", device, ("cpu", "cuda", "auto"))
    if wandb is not None:
        choose("--wandb", wandb, ("online", "offline", "off"))


def choose(option: str, value: str, choices: tuple[str, ...]) -> None:
    """Raises a UsageError for a value of an option that is none of its choices."""
    if value not in choices:
        raise UsageError(f"{option} is {', '.join(choices[:-1])} or {choices[-1]}, not {value!r}")
