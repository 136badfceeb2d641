"""`anamnesis completion`: prints the script with which a shell completes commands, options and note ids."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from anamnesis.cli.options import as_json
from anamnesis.cli.output import print_json

_INSTALL = {
    "bash": 'eval "$(anamnesis completion bash)"    # in ~/.bashrc',
    "zsh": 'eval "$(anamnesis completion zsh)"    # in ~/.zshrc',
    "fish": "anamnesis completion fish > ~/.config/fish/completions/anamnesis.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(list(_INSTALL)))
@as_json
@click.pass_context
def command(ctx: click.Context, shell: str, as_json: bool) -> None:
    """Print the completion script of a shell.

    \b
    bash:  eval "$(anamnesis completion bash)"    in ~/.bashrc
    zsh:   eval "$(anamnesis completion zsh)"     in ~/.zshrc
    fish:  anamnesis completion fish > ~/.config/fish/completions/anamnesis.fish
    JSON: {"shell", "script"}
    """
    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    root = ctx.find_root()
    script = completion(root.command, {}, "anamnesis", "_ANAMNESIS_COMPLETE").source()
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        click.echo(script)
