# Prints how zsh completes a line when Tab is pressed at its end, in a separate shell with
# completions from FOLDER.
# Usage: zsh -f zsh_tab.zsh FOLDER LINE
zmodload zsh/zpty
zpty shell zsh -f -i
# Tab completes; then the line is shown between marks instead of run.
zpty -w shell "PS1= RPS1= fpath=(${(q)1} \$fpath)
show-line() { print -rn -- \$'\\n<'\$BUFFER\$'>\\n'; }
zle -N show-line
bindkey '^I' complete-word
bindkey '^X' show-line
autoload -U compinit && compinit -u -D
print rea'dy'"
zpty -r -m shell said '*ready*'
zpty -w -n shell "$2"$'\t\x18'
zpty -r -m shell said $'*\n<*>*'
said=${said##*$'\n<'}
print -r -- ${${said%%>*}% }
zpty -d shell
