import Foundation
import NestTestSupport
import Testing

/// Runs the commands of a page from top to bottom, in a fresh directory that looks like the root of the repository.
///
/// The ports 7000 to 7009 and 7080 of a page are replaced by free ports in commands, and back in the output.
actor PageReader {
    /// The time to wait for output that the page shows. Only a wrong page waits so long.
    private static let patience = Duration.testPatience

    private let directory = TemporaryDirectory()
    private let environment: [String: String]
    private let ports: [Int]
    /// The terminals by person.
    private var terminals: [String: Terminal] = [:]
    private var live: [String: (terminal: Terminal, shown: Int)] = [:]
    private var screen: Screen?

    /// `environment` is added to the reader's environment. `links`: files of the repository that the directory links
    /// to.
    init(environment: [String: String] = [:], links: [String] = ["Clients", "Examples", "Makefile", "deploy"]) throws {
        // PostgreSQL, which does not run as root, must be able to enter.
        chmod(self.directory.path, 0o711)
        let first = try FreePorts.first(of: Self.pagePorts.count, in: FreePorts.pages)
        self.ports = Array(first..<first + Self.pagePorts.count)
        let programs = URL(filePath: Program.nestc).deletingLastPathComponent().path()
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        var variables = [
            "NEST_SERVER": "127.0.0.1:\(first)", "NEST_SESSION": "", "NEST_GROUP": "", "NEST_CONTEXT": "",
            "NEST_TOKEN_FILE": "", "NEST_USER": "", "NO_COLOR": "1", "TERM": "xterm-256color", "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PATH": "\(programs):\(path)", "HOME": self.directory.path,
            "XDG_STATE_HOME": "\(self.directory.path)/.state", "XDG_CONFIG_HOME": "\(self.directory.path)/.config",
        ]
        variables.merge(environment) { $1 }
        self.environment = variables
        for link in links {
            try FileManager.default.createSymbolicLink(
                atPath: "\(self.directory.path)/\(link)",
                withDestinationPath: Repository.root.appending(path: link).path()
            )
        }
    }

    // MARK: Blocks

    /// Runs a block. Returns its correct lines: the lines of the page where they match, otherwise the printed lines.
    func run(_ block: Page.Block) async throws -> (lines: [String], faults: [String]) {
        let words = block.label.split(separator: " ").map(String.init)
        switch words.first {
        case "console" where words.count > 1 && words[1] == "live":
            return try await self.runLive(block, words.count > 2 ? words[2] : "")
        case "console": return try await self.runCommands(block)
        case "screen": return try await self.runScreen(block, words.dropFirst().first)
        default: return (block.lines, [])
        }
    }

    private func runCommands(_ block: Page.Block) async throws -> (lines: [String], faults: [String]) {
        let (more, commands) = Page.commands(block)
        var lines: [String] = []
        var faults = more.isEmpty ? [] : ["a block 'console' begins with a command, not with '\(more[0])'"]
        for command in commands {
            if let language = try await self.missingLanguage(command.text) {
                print("skipped: \(language) is missing, so no test runs '\(command.text)'")
                lines += command.source + command.output
                continue
            }
            let printed = try await self.terminal(of: command.person).run(self.typed(command.text))
                .filter { !Self.isProgress($0) }.map(self.shown)
            let isShown = Shown.matches(command.output, printed)
            if !isShown { faults.append(Self.fault(command.text, command.output, printed)) }
            lines += command.source + (isShown ? command.output : printed)
        }
        return (lines, faults)
    }

    /// The language that a command needs and that this machine lacks.
    private func missingLanguage(_ command: String) async throws -> String? {
        let checks = [
            (name: "Python 3.11", program: "python3", check: "import sys; sys.exit(sys.version_info < (3, 11))"),
            (name: "Node 18", program: "node", check: "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)"),
        ]
        for one in checks where command.split(separator: " ").contains(Substring(one.program)) {
            let option = one.program == "node" ? "-e" : "-c"
            let check = "\(one.program) \(option) '\(one.check)' 2>/dev/null || echo missing"
            if try await self.newTerminal(of: "").run(check) == ["missing"] { return one.name }
        }
        return nil
    }

    private func runLive(_ block: Page.Block, _ name: String) async throws -> (lines: [String], faults: [String]) {
        let (more, commands) = Page.commands(block)
        var expected = more
        if let command = commands.first {
            guard more.isEmpty, commands.count == 1 else { return (block.lines, ["a live block has one command"]) }
            expected = command.output
            let terminal = try self.newTerminal(of: command.person)
            try await terminal.start(self.typed(self.recipe(command.text)))
            self.live[name] = (terminal, 0)
        }
        guard let live = self.live[name] else { return (block.lines, ["no command runs in this terminal"]) }
        // Takes the fewest lines that match: with a line of `…` their number is not known before.
        let deadline = ContinuousClock.now + Self.patience
        var printed: [String] = []
        repeat {
            printed = try await live.terminal.lines(atLeast: live.shown).dropFirst(live.shown).map(self.shown)
            if let count = (0...printed.count).first(where: { Shown.matches(expected, Array(printed.prefix($0))) }) {
                self.live[name] = (live.terminal, live.shown + count)
                return (block.lines, [])
            }
            try await Task.sleep(for: .milliseconds(20))
        } while ContinuousClock.now < deadline
        let lines = Array(printed.prefix(expected.count))
        self.live[name] = (live.terminal, live.shown + lines.count)
        return (
            (commands.first?.source ?? []) + lines,
            [Self.fault(commands.first?.text ?? "the command that continues", expected, printed)]
        )
    }

    private func runScreen(_ block: Page.Block, _ keys: String?) async throws -> (lines: [String], faults: [String]) {
        guard Screen.isAvailable else {
            print("skipped: tmux is missing, so no test runs the block 'screen' with \(block.lines.first ?? "")")
            return (block.lines, [])
        }
        let (more, commands) = Page.commands(block)
        var expected = more
        if let command = commands.first {
            expected = command.output
            self.screen = try await Screen(
                self.typed(command.text),
                rows: expected.count,
                directory: self.directory.path,
                environment: self.environment
            )
        }
        guard let screen = self.screen else { return (block.lines, ["no program has the screen here"]) }
        if let keys, let match = keys.wholeMatch(of: /keys=(.+)/) {
            try await screen.press(match.output.1.split(separator: ",").map(String.init))
        }
        // The program may draw some time later.
        let deadline = ContinuousClock.now + Self.patience
        var printed: [String] = []
        repeat {
            printed = try await screen.lines().map(self.shown)
            if Shown.matches(expected.trimmingEnd, printed) { return (block.lines, []) }
            try await Task.sleep(for: .milliseconds(50))
        } while ContinuousClock.now < deadline
        while printed.count < expected.count { printed.append("") }
        return ((commands.first?.source ?? []) + printed, [Self.fault(commands.first?.text ?? "", expected, printed)])
    }

    // MARK: Terminals

    private func terminal(of person: String) throws -> Terminal {
        if let terminal = self.terminals[person] { return terminal }
        let terminal = try self.newTerminal(of: person)
        self.terminals[person] = terminal
        return terminal
    }

    /// Returns a new terminal of a person. `nestc` stores the person's session in a directory of its own.
    private func newTerminal(of person: String) throws -> Terminal {
        var environment = self.environment
        if person != "" { environment["XDG_STATE_HOME"] = "\(self.directory.path)/.state-\(person)" }
        return try Terminal(directory: self.directory.path, environment: environment)
    }

    /// Returns a command. For `make run` and `make cluster` it is the last line of the recipe, without the build, with
    /// the defaults of variables and with the programs under test.
    private func recipe(_ command: String) throws -> String {
        guard let target = command.wholeMatch(of: /make (run|cluster)/)?.output.1 else { return command }
        let makefile = try Repository.text("Makefile").split(separator: "\n", omittingEmptySubsequences: false)
        let rule = makefile.drop { !$0.hasPrefix("\(target):") }.dropFirst().prefix { $0.hasPrefix("\t") }
        guard let last = rule.last else { throw ProcessFailure("the Makefile has no rule '\(target)'") }
        return String(last.dropFirst()).replacing(".build/release/", with: "")
            .replacing(/\$\(or \$\([A-Z]+\),([^)]*)\)/) { String($0.output.1) }
    }

    /// A transfer that lasts leaves such a line: how long it lasts depends on the machine.
    private static func isProgress(_ line: String) -> Bool {
        line.wholeMatch(of: /(read|wrote|copied|received) .*, [\d,]+\/s(, [\d.]+ k?M?B)?/) != nil
    }

    // MARK: Ports

    private func typed(_ command: String) -> String {
        command.replacing(/\b70[08]\d\b/) { match in
            Self.pagePorts.firstIndex(of: Int(match.output)!).map { "\(self.ports[$0])" } ?? String(match.output)
        }
    }

    private func shown(_ line: String) -> String {
        line.replacing(/\b\d{5}\b/) { number in
            self.ports.firstIndex(of: Int(number.output)!).map { "\(Self.pagePorts[$0])" } ?? String(number.output)
        }
    }

    /// The ports on the pages.
    private static let pagePorts = Array(7_000...7_009) + [7_080]

    private static func fault(_ command: String, _ shown: [String], _ printed: [String]) -> String {
        """
        $ \(command)
        --- the page shows
        \(shown.joined(separator: "\n"))
        --- it prints
        \(printed.joined(separator: "\n"))
        """
    }
}

extension [String] {
    /// The lines without trailing empty lines.
    fileprivate var trimmingEnd: [String] {
        var lines = self
        while lines.last == "" { lines.removeLast() }
        return lines
    }
}
