import Foundation
import NestTestSupport
import Testing

extension ProcessTests {
    /// The scripts of `nestc completion`, in the shells for which they are.
    @Suite struct Completions {
        private let server: ServerProcess
        private let user: CommandLineUser

        init() async throws {
            self.server = try await ServerProcess.started(model: PeopleModel.json)
            self.user = await CommandLineUser(self.server)
        }

        private static func hasShell(_ name: String) -> Bool {
            let found = FileManager.default.isExecutableFile(atPath: "/usr/bin/\(name)")
            if !found { print("skipped: \(name) is not installed, so its completion is not tested") }
            return found
        }

        private func prepare() async throws {
            let directory = self.server.directory.path
            try Data("{}".utf8).write(to: URL(filePath: "\(directory)/people.opml"))
            try await self.user.output("insert", "Company", "name=Acme")
            try await self.user.output("context", "set", "office", "--server", "127.0.0.1:1", "--quiet")
        }

        /// Line, and words that must and must not be among the completions of its last word.
        private static let cases: [(line: String, present: [String], absent: [String])] = [
            ("nestc tr", ["tree"], ["ls"]), ("nestc ", ["history", "completion"], []),
            ("nestc token ", ["create", "revoke"], ["tree"]), ("nestc tree --dep", ["--depth"], []),
            ("nestc help qu", ["query"], []), ("nestc help ", ["tree", "exit-codes"], []),
            ("nestc import peo", ["people.opml"], []), ("nestc tree --token-file peo", ["people.opml"], []),
            ("nestc tree --tls-ca peo", ["people.opml"], []),
            ("nestc export -o peo", ["people.opml"], []), ("nestc --context ", ["office"], []),
            ("nestc context use ", ["office"], []), ("nestc fetch --entity ", ["Person", "Tag"], []),
            ("nestc insert Per", ["Person"], ["Tag"]), ("nestc fetch --entity Tag --sort ", ["name"], ["age"]),
            ("nestc fetch --entity Person --properties name,a", ["name,age"], ["name,name"]),
            ("nestc fetch --entity Company --sort -staff.@a", ["-staff.@avg.age"], ["-staff.@avg.name"]),
            ("nestc relate 1 ", ["staff", "tags"], ["card"]), ("nestc set 1 ", ["founded="], ["age="]),
            ("nestc changes --entity Comp", ["Company"], []),
        ]

        @Test func bashCompletesCommandsFilesAndNamesOfTheModel() async throws {
            try await self.prepare()
            let terminal = try Terminal(directory: self.server.directory.path, environment: self.user.environment)
            _ = try await terminal.run("source <(nestc completion bash)")
            #expect(try await terminal.run("complete -p nestc") == ["complete -o filenames -F __nestc_words nestc"])
            _ = try await terminal.run(
                """
                completions() {
                    COMP_LINE="$1" COMP_POINT=${#1}; read -r -a COMP_WORDS <<<"$1"
                    [[ $1 == *' ' ]] && COMP_WORDS+=('')
                    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
                    _nestc nestc "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
                    printf '%s\\n' "${COMPREPLY[@]}"
                }
                """
            )
            for (line, present, absent) in Self.cases {
                let found = Set(
                    try await terminal.run("completions '\(line)'").map { $0.trimmingCharacters(in: .whitespaces) }
                )
                #expect(found.isSuperset(of: present), "\(line): \(found)")
                #expect(found.isDisjoint(with: absent), "\(line): \(found)")
            }
            // Without a server, names are not completed, and nothing is printed.
            try await self.server.terminate()
            #expect(try await terminal.run("completions 'nestc fetch --entity ' 2>&1") == [""])
        }

        /// The value follows the sign at once.
        @Test(.enabled(if: Screen.isAvailable, "tmux is missing")) func bashWaitsForAValueAfterTheEqualSign()
            async throws
        {
            try await self.prepare()
            let screen = try await Screen(
                "exec env 'PS1=> ' bash --norc --noprofile",
                rows: 8,
                directory: self.server.directory.path,
                environment: self.user.environment
            )
            try await screen.type("source <(nestc completion bash)")
            try await screen.press(["Enter"])
            try await screen.type("nestc set 1 foun")
            try await screen.press(["Tab"])
            _ = try await waitFor("'founded=' in bash") {
                try await screen.lines().contains { $0.hasSuffix("nestc set 1 founded=") } ? true : nil
            }
            try await screen.type("now")
            _ = try await waitFor("the value after the sign") {
                try await screen.lines().contains { $0.hasSuffix("nestc set 1 founded=now") } ? true : nil
            }
        }

        @Test(arguments: ["zsh", "fish"]) func shellsWithMenusComplete(_ shell: String) async throws {
            guard Self.hasShell(shell), Screen.isAvailable else { return }
            try await self.prepare()
            let directory = self.server.directory.path
            let start =
                shell == "fish"
                ? "fish --no-config -i -C 'nestc completion fish | source'"
                : "ZDOTDIR=\(directory) zsh -i"
            let settings = "fpath=(\(directory)/zfunc $fpath)\nautoload -Uz compinit; compinit -D -u\nPS1='> '\n"
            try Data(settings.utf8).write(to: URL(filePath: "\(directory)/.zshrc"))
            let script = try await self.user.shell(
                "mkdir \(directory)/zfunc; nestc completion zsh >\(directory)/zfunc/_nestc"
            )
            #expect(script.status == 0, "\(script.report)")
            let screen = try await Screen(
                start,
                rows: 24,
                directory: directory,
                environment: self.user.environment.merging(["HOME": directory]) { $1 }
            )
            // A line with one completion, and the whole line.
            let lines = [
                ("nestc tr", "nestc tree"), ("nestc help qu", "nestc help query"),
                ("nestc import peo", "nestc import people.opml"), ("nestc context use o", "nestc context use office"),
                ("nestc fetch --entity Pers", "nestc fetch --entity Person"),
                ("nestc set 1 foun", "nestc set 1 founded="),
            ]
            for (typed, completed) in lines {
                try await screen.press(["C-u", typed, "Tab"])
                _ = try await waitFor("'\(completed)' in \(shell)") {
                    try await screen.lines().contains { $0.hasSuffix(completed) } ? true : nil
                }
            }
        }

        @Test func everyShellHasAScript() async throws {
            for shell in ["bash", "zsh", "fish"] {
                let script = try await self.user.output("completion", shell)
                #expect(script.contains("nestc") && script.contains("query"), "\(shell)")
            }
            let wrong = try await self.user.run("completion", "tcsh")
            #expect(wrong.status == 64 && wrong.errors.contains("'bash', 'zsh' or 'fish'"), "\(wrong.report)")
        }
    }
}
