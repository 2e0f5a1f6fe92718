"""``nd completion``: prints the script that teaches a shell to complete the words of ``nd``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from neuro_divergent.core.errors import InputError, check_choice
from neuro_divergent.interfaces.cli.completion.answer import ANSWER

EXAMPLES = """\b
Examples:
  nd completion bash                                     (shows the script)
  echo 'source <(nd completion bash)' >> ~/.bashrc       (bash, from the next terminal on)
  echo 'source <(nd completion zsh)' >> ~/.zshrc         (zsh, after the line with compinit)
  nd completion fish > ~/.config/fish/completions/nd.fish
"""
_BASH = """\
_nd_completion() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <("$1" %(answer)s bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == */ ]] && type compopt >/dev/null 2>&1; then
        compopt -o nospace
    fi
}
complete -F _nd_completion nd
complete -F _nd_completion neuro-divergent
"""
_ZSH = """\
#compdef nd neuro-divergent
_nd() {
    local line text
    local -a plain directories described
    while IFS= read -r line; do
        text="${line%%%%$'\\t'*}"
        if [[ "$text" == */ ]]; then
            directories+=("$text")
        elif [[ "$line" == *$'\\t'* ]]; then
            described+=("${text//:/\\\\:}:${line#*$'\\t'}")
        else
            plain+=("$text")
        fi
    done < <("${words[1]}" %(answer)s zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    (( $#described )) && _describe -V 'nd' described
    (( $#plain )) && compadd -- "${plain[@]}"
    (( $#directories )) && compadd -S '' -- "${directories[@]}"
    (( $#described + $#plain + $#directories ))
}
if [[ "$funcstack[1]" == _nd ]]; then
    _nd "$@"
else
    compdef _nd nd neuro-divergent
fi
"""
_FISH = """\
function __nd_completion
    set -l typed (commandline -opc)
    $typed[1] %(answer)s fish $typed[2..-1] (commandline -ct) 2>/dev/null
end
complete -c nd -f -a '(__nd_completion)'
complete -c neuro-divergent -f -a '(__nd_completion)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def completion(
    shell: Annotated[str | None, typer.Argument(metavar="SHELL", help="bash, zsh or fish.", show_default=False)] = None,
) -> None:
    """Print the script for completion by TAB in bash, zsh or fish."""
    if shell is None:
        own = Path(os.environ.get("SHELL", "")).name
        example = own if own in _SCRIPTS else "bash"
        raise InputError(f"for which shell? Write bash, zsh or fish: source <(nd completion {example})")
    check_choice("shell", shell, _SCRIPTS)
    typer.echo(_SCRIPTS[shell] % {"answer": ANSWER}, nl=False)
