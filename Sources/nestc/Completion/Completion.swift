import ArgumentParser
import NestDocuments

/// `nestc completion`: the script that makes a shell complete nestc's arguments.
struct Completion: ParsableCommand {
    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash
        case zsh
        case fish
    }

    static let configuration = CommandConfiguration(
        abstract: "Print the completion script of a shell.",
        discussion: """
            Examples:
              nestc completion bash > ~/.local/share/bash-completion/completions/nestc
              nestc completion zsh > ~/.zfunc/_nestc
              nestc completion fish > ~/.config/fish/completions/nestc.fish
              source <(nestc completion bash)    for this shell only

            bash needs the package bash-completion. For zsh, put 'fpath+=~/.zfunc' before 'compinit' in ~/.zshrc. \
            Create the directory if there is none. 'make install' and the Debian package install the scripts.

            The scripts complete commands, options, files, topics of help and contexts. They ask the server, if one \
            answers within a second, for the names of entities and properties.
            """
    )

    @Argument(help: "The shell.")
    var shell: Shell

    @OptionGroup var global: GlobalOptions

    func run() throws {
        let script = CompletionScript.text(for: self.shell)
        var output = Output()
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("shell", self.shell.rawValue)
                    json.field("script", script)
                }
            )
        } else {
            try output.write(Array(script.utf8))
        }
        try output.flush()
    }
}

/// The parser's script, with what it lacks: the words after `help`, and in bash and fish the files of options that the
/// help does not list.
enum CompletionScript {
    /// Options that are not in the help of each command, but in that of `context`.
    private static let hiddenFileOptions = ["--tls-ca", "--tls-cert", "--tls-key"]

    static func text(for shell: Completion.Shell) -> String {
        let words = CommandNames.helpWords
        switch shell {
        case .bash:
            let options = self.hiddenFileOptions.joined(separator: "|")
            let list = words.joined(separator: "'$'\n''")
            var script = Nestc.completionScript(for: .bash)
            self.insert(
                "    case \"${prev}\" in \(options)) __nestc_add_completions -f; return ;; esac\n",
                after: "    local -r prev=\"${3}\"\n",
                of: "_nestc() {",
                into: &script
            )
            self.insert(
                "    __nestc_add_completions -W '\(list)'\n",
                after: "    __nestc_offer_flags_options -1\n",
                of: "_nestc_help() {",
                into: &script
            )
            return script + "\n" + self.bashAssignments
        case .zsh:
            var script = Nestc.completionScript(for: .zsh)
            let list = "(\(words.joined(separator: " ")))"
            self.insert(list, after: "'*:subcommands:", of: "_nestc_help() {", into: &script)
            return script + "\n"
        case .fish:
            let condition = "__nestc_should_offer_completions_for_positional \"nestc help\" -ge 0"
            var lines = ["complete -c 'nestc' -n '\(condition)' -fa '\(words.joined(separator: " "))'"]
            lines += self.hiddenFileOptions.map { "complete -c 'nestc' -l '\($0.dropFirst(2))' -rF" }
            return Nestc.completionScript(for: .fish) + "\n" + lines.joined(separator: "\n") + "\n"
        }
    }

    /// In bash, `name=` goes on with a value: no space follows, and the sign is not quoted as in the name of a file.
    private static let bashAssignments = """
        __nestc_words() {
            _nestc "$@"
            if [[ "${#COMPREPLY[@]}" -gt 0 && "${COMPREPLY[0]}" == *= ]]; then compopt +o filenames -o nospace; fi
        }
        complete -o filenames -F __nestc_words nestc

        """

    /// Inserts a text behind another one in a function of the script.
    private static func insert(_ text: String, after place: String, of function: String, into script: inout String) {
        guard let start = script.firstRange(of: function)?.upperBound,
            let found = script[start...].firstRange(of: place)
        else { return }
        script.insert(contentsOf: text, at: found.upperBound)
    }
}
