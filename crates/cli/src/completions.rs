//! `completions`.

use crate::complete::ASKED;
use crate::failure::Failure;
use crate::help::with_exit_status;
use crate::name::NAME;
use crate::terminal::print_exact;
use clap::Args;
use clap_complete::Shell;
use clap_complete::env::Shells;

/// Print the script by which a shell completes commands, scenarios, methods and settings
#[derive(Args)]
#[command(after_help = with_exit_status!(
    "Example:\n  source <(justfull completions bash)"
))]
pub(crate) struct CompletionsArgs {
    /// Shell
    shell: Shell,
}

/// Bash divides `FQ-CoDel@DQL` before its `@` and `rlc.limiter=drql` around its `=`, and replaces
/// the last part. The script calls the program with the whole word and strips the earlier parts
/// from its answers.
const JOINED: &str = r#"
_NAME() {
    local -a words=()
    local word at=0 i
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word=${COMP_WORDS[i]}
        if ((i > 1)) && [[ $word == [@=]* || ${words[${#words[@]} - 1]} == *[@=] ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
        ((i == COMP_CWORD)) && at=$((${#words[@]} - 1))
    done
    local begun=$2 before=
    if [[ ${words[at]} != "${COMP_WORDS[COMP_CWORD]}" ]]; then
        begun=${words[at]}
        before=${begun%"$2"}
    fi
    local -a COMP_WORDS=("${words[@]}")
    local COMP_CWORD=$at
    _clap_complete_NAME NAME "$begun" "$3"
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
complete -o nospace -o bashdefault -o nosort -F _NAME NAME 2>/dev/null ||
    complete -o nospace -o bashdefault -F _NAME NAME
"#;

/// Prints the script for `shell`.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let shell = args.shell;
    let name = shell.to_string();
    let shells = Shells::builtins();
    let Some(known) = shells.completer(&name) else {
        let allowed = shells.names().collect::<Vec<_>>().join(", ");
        return Err(Failure::Usage(format!("shell: found {name}, allowed is one of {allowed}")));
    };
    let mut script = Vec::new();
    known
        .write_registration(ASKED, NAME, NAME, NAME, &mut script)
        .map_err(|e| Failure::usage(&e))?;
    let mut script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        // When read as a function of that name, it must also complete the first time.
        Shell::Zsh => script.push_str(&format!(
            "if [ \"$funcstack[1]\" = \"_{NAME}\" ]; then _clap_dynamic_completer_{NAME} \"$@\"; fi\n"
        )),
        Shell::Bash => script.push_str(&JOINED.replace("NAME", NAME)),
        _ => {}
    }
    print_exact(&script)
}
