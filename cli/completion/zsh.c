/* SPDX-License-Identifier: MIT */
/* Completion for zsh. IPREFIX takes what stands ahead of the last colon. */
#include "cli/completion/completion.h"

#include <stdio.h>

static const char functions[] =
    "_filterchain_stage() {\n"
    "  local name=${PREFIX%%:*}\n"
    "  if [[ $PREFIX != *:* ]]; then\n"
    "    compadd -S '' -- ${(k)_filterchain_params}\n"
    "    return\n"
    "  fi\n"
    "  compset -P '*:'\n"
    "  local -a all=(${=_filterchain_params[$name]}) bare=(${${(M)all:#@*}#@})\n"
    "  [[ $IPREFIX == *:*: ]] && bare=() # bare values are for the first argument\n"
    "  compadd -S '' -- ${all:#@*} ${bare:#} && { (( ${bare[(I)]} )) && _files; return; }\n"
    "  compset -P '*='\n"
    "  _files # a table, an input, a path\n"
    "}\n"
    "\n"
    "_filterchain_file() { # in|out: a file, then options of its format\n"
    "  local name=${PREFIX%%:*} table=_filterchain_$1\n"
    "  if [[ $PREFIX != *:* ]]; then\n"
    "    _files\n"
    "    return\n"
    "  fi\n"
    "  local -A known=(${(Pkv)table})\n"
    "  compset -P '*:'\n"
    "  compadd -S '' -- ${=known[${name##*.}]}\n"
    "}\n"
    "\n"
    "_filterchain() {\n"
    "  local before=${words[CURRENT-1]}\n"
    "  case $before in\n"
    "  -p|--operator) _filterchain_stage ;;\n"
    "  -i|--input) _filterchain_file in ;;\n"
    "  -o|--output) _filterchain_file out ;;\n"
    "  --op) compadd -- ${(k)_filterchain_params} ;;\n"
    "  *)\n"
    "    if [[ -n $before && -n ${_filterchain_values[$before]} ]]; then\n"
    "      compadd -- ${=_filterchain_values[$before]}\n"
    "    elif [[ $PREFIX == -* && ${words[2]} == check ]]; then compadd -- ${=_filterchain_check}\n"
    "    elif [[ $PREFIX == -* && ${words[2]} == bench ]]; then compadd -- ${=_filterchain_bench}\n"
    "    elif [[ $PREFIX == -* ]]; then compadd -- ${=_filterchain_options}\n"
    "    elif (( CURRENT == 2 )); then compadd -- ${=_filterchain_commands}\n"
    "    elif [[ ${words[2]} == (inspect|check) ]]; then compadd -- ${(k)_filterchain_params}; _files\n"
    "    else _filterchain_file in\n"
    "    fi\n"
    "    ;;\n"
    "  esac\n"
    "}\n"
    "\n"
    "compdef _filterchain filterchain\n";

void complete_zsh(const fc_operator *const *operators) {
  complete_tables(&(complete_form){"typeset -gA ", "=(\n", "  '", "' '", "'\n", ")\n"}, operators);
  complete_lists();
  fputs(functions, stdout);
}
