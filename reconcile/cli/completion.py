"""`completion`: scripts that let a shell complete commands, options, names and ids."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from reconcile.cli import exits

_BASH = """\
_reconcile() {
    local line tab=$'\\t' words=("${COMP_WORDS[@]:0:COMP_CWORD+1}")
    words=("${words[@]//[\\\\\\'\\"]/}")
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%"$tab"*}")
    done < <("${words[0]/#\\~/"$HOME"}" __complete "${words[@]:1}" 2>/dev/null)
}
complete -o bashdefault -o default -F _reconcile reconcile
"""
_ZSH = """\
#compdef reconcile
_reconcile() {
    local tab=$'\\t'
    local -a before lines
    before=("${(@Q)words[1,CURRENT-1]}")
    lines=("${(@f)$("${before[1]/#\\~/$HOME}" __complete "${(@)before[2,-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    if [[ -n "${lines[1]}" ]]; then
        lines=("${(@)lines/$tab/:}")
        _describe reconcile lines
    else
        _files
    fi
}
if [[ "${funcstack[1]}" == _reconcile ]]; then
    _reconcile "$@"
else
    compdef _reconcile reconcile
fi
"""
_FISH = """\
function __reconcile_candidates
    set -l words (commandline -opc)
    set -l current (string trim --left --chars '\\'"' -- (commandline -ct))
    set -l program (string replace --regex '^~(?=/)' "$HOME" -- $words[1])
    type -q $program; or return
    set -l lines (command $program __complete $words[2..-1] "$current" 2>/dev/null)
    if test (count $lines) -gt 0
        string join \\n -- $lines
    else
        __fish_complete_path "$current"
    end
end
complete -c reconcile -f -a '(__reconcile_candidates)'
"""
SCRIPTS: Mapping[str, str] = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def register(app: typer.Typer) -> None:
    app.command(help="Print the script that completes commands in bash, zsh or fish.")(completion)


def completion(shell: Annotated[str, typer.Argument(help="bash, zsh or fish.", metavar="SHELL")]) -> None:
    from reconcile.cli.output import Output
    from rules.document.mistakes import suggestion

    if shell not in SCRIPTS:
        raise typer.BadParameter(f"no script for {shell!r}; {suggestion(shell, SCRIPTS)}", param_hint="SHELL")
    Output().block(SCRIPTS[shell].rstrip("\n"))


def answer(words: Sequence[str]) -> int:
    """Print the candidates for the last word, one per line, each with its meaning after a tab.

    An error prints nothing: the shell has no place for it, and the command itself reports it.
    """
    with contextlib.suppress(Exception, KeyboardInterrupt):
        from reconcile.cli.candidates import candidates
        from reconcile.cli.commands import program
        from reconcile.telemetry import visible

        for word, meaning in candidates(program, words):
            visible.raw(sys.stdout).write(f"{word}\t{visible.line(meaning)}\n")
    return exits.DONE
