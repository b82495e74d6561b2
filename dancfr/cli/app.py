"""The typer application, and the options and checks that several commands share."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from dancfr.errors import UsageError

app = typer.Typer(
    help="Train and evaluate agents for imperfect-information games with Ray: DREAM, Deep Monte-Carlo and CFR on "
    "Geister, Cheat, GuanDan, poker and your own games.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Command(TyperCommand):
    """A command whose help shows arguments by name only, without the Python types that typer adds."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Returns usage such as ``RUN...``, which typer writes ``{RUN}...``; keeps the brackets of optional parts."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the help of the arguments, then of the options."""
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
    typer.Option("--option", metavar="KEY=VALUE", help="Option of the game, see `dancfr games NAME`; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print a single JSON object to standard output.")]

Preset = Annotated[str, typer.Argument(metavar="PRESET", help="Name of a preset, see `dancfr presets`.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint in --run-dir.")]
AllowChanges = Annotated[
    bool, typer.Option("--allow-changes", help="With --resume: allow settings that differ from those of the start.")
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Ray to use: auto, host:port, or local (starts Ray here); default: RAY_ADDRESS, else local.",
    ),
]
Device = Annotated[str, typer.Option(metavar="DEVICE", help="Device that trains nets: cpu, cuda or auto.")]
TensorBoard = Annotated[
    bool, typer.Option("--tensorboard", help="Write the record for TensorBoard, too: tensorboard --logdir runs.")
]


def refuse_options(overrides: Sequence[str]) -> None:
    """Raises UsageError if an option of a training is given as a setting."""
    from dancfr.values import split_settings

    for key, value in split_settings(overrides).items():
        if key == "tensorboard":
            raise UsageError("tensorboard is a command-line option, not a setting: use --tensorboard")
        if key in ("workers", "address", "device", "wandb", "run_dir", "run-dir"):
            raise UsageError(f"{key} is a command-line option, not a setting: use --{key.replace('_', '-')} {value}")


def command_names() -> list[str]:
    """Returns the names of all commands."""
    return [str(each.name or getattr(each.callback, "__name__", "")) for each in app.registered_commands]


def check_training(device: str, wandb: str | None) -> None:
    """Raises UsageError if --device or --wandb has an unknown value."""
    choose("--device", device, ("cpu", "cuda", "auto"))
    if wandb is not None:
        choose("--wandb", wandb, ("online", "offline", "off"))


def choose(option: str, value: str, choices: tuple[str, ...]) -> None:
    """Raises UsageError if the value of an option is not one of its choices."""
    if value not in choices:
        raise UsageError(f"{option} must be {', '.join(choices[:-1])} or {choices[-1]}, got {value!r}")


def integers(option: str, text: str) -> list[int]:
    """Parses a list of integers of at least 0, such as ``1,2,3``.

    Raises:
        UsageError: it is something else.
    """
    from dancfr.values import parse_value

    try:
        values: list[int] = parse_value(text, list[int])
    except ValueError:
        values = []
    if len(values) != text.count(",") + 1 or min(values) < 0:  # parse_value skips empty items, as in 1,,2
        raise UsageError(f"{option} must be a list of integers of at least 0, such as 1,2,3, got {text!r}")
    return values
