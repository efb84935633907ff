import ArgumentParser
import Foundation
import NIOPosix
import NestModel
import NestProtocol

/// Runs a malicious client and a few normal ones. Measures how long the normal ones wait for replies with and without
/// the attack, and the server's memory.
struct AttackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attack",
        abstract: "Attack a nestd in several ways, and measure other clients' waits and nestd's memory.",
        discussion: """
            Each attack has its own nestd. A few bystanders commit one row, ping, get an object and connect, each on \
            its own connection, every \(Bystander.pauseMilliseconds) ms: first alone, then during the attack, until \
            each is answered again. The attackers then disconnect, --settle seconds pass, and nestd receives SIGTERM. \
            If a nestd dies, the command reports it, continues with the other attacks, and exits with status 1.

            \(Attack.list)

            Examples:
              nestbench attack
              nestbench attack held-replies predicate-mass --seconds 20
              nestbench attack bulk --rows 200000 --json
              nestbench attack predicate-mass row-bombs --terminate
              nestbench attack --nestd /tmp/older/nestd --markdown
            """
    )

    @Argument(help: ArgumentHelp("The attacks to run; by default all.", valueName: "name"))
    var attacks: [Attack] = []

    @Option(help: "Seconds that the bystanders work alone, and approximate seconds of an attack.")
    var seconds = 10

    @Option(help: "Bystanders of each kind.")
    var bystanders = 2

    @Option(help: "Seconds from the end of the attack to the last memory sample.")
    var settle = 10

    @Option(
        help:
            "Seconds that a bystander waits for a reply after the attack, and that an attacker waits for any reply."
    )
    var patience = 120

    @Flag(help: "Send SIGTERM in the middle of each attack instead of after it.")
    var terminate = false

    @Option(help: ArgumentHelp("The nestd to attack; by default the one in nestbench's directory.", valueName: "path"))
    var nestd: String?

    @Option(help: ArgumentHelp("The directory for stores.", valueName: "directory"))
    var directory = "/tmp"

    @OptionGroup(title: "Sizes") var sizes: AttackSizes

    @Flag(help: "Print one JSON object for each attack.")
    var json = false

    @Flag(help: "Print a Markdown table: for each attack the bystanders' p99 and the memory.")
    var markdown = false

    func validate() throws {
        func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws {
            guard range.contains(value) else {
                throw ValidationError("--\(name) must be \(range.lowerBound) to \(range.upperBound)")
            }
        }
        try check("seconds", self.seconds, 1...600)
        try check("bystanders", self.bystanders, 1...1_000)
        try check("settle", self.settle, 0...600)
        try check("patience", self.patience, 1...3_600)
        for (name, value, range) in self.sizes.bounds { try check(name, value, range) }
        guard !self.json || !self.markdown else { throw ValidationError("--json and --markdown cannot be combined") }
    }

    func run() async throws {
        let report = AttackReport(self.json ? .json : self.markdown ? .markdown : .text)
        var hasDied = false
        report.begin()
        for attack in self.attacks.isEmpty ? Attack.allCases : self.attacks {
            Progress.show("\(attack.rawValue): preparing")
            let figures = try await self.figures(of: attack)
            Progress.clear()
            report.add(figures)
            hasDied = hasDied || figures.died != nil
        }
        if hasDied { throw ExitCode(1) }
    }

    private func figures(of attack: Attack) async throws -> AttackFigures {
        let server = try await AttackServer(nestd: self.nestd, under: self.directory, patience: self.patience)
        do {
            let figures = try await AttackRun(self, attack, server).figures()
            try await server.close()
            return figures
        } catch {
            if server.child.end == nil { server.child.killNow() }
            try await server.close()
            throw error
        }
    }
}

/// The sizes of the attacks.
struct AttackSizes: ParsableArguments {
    @Option(help: "held-replies: connections.")
    var connections = 60

    @Option(help: "row-bombs: chunks of an import, each of 65,536 rows.")
    var chunks = 40

    @Option(help: "predicate-mass, predicates-left: subscriptions of each of 4 connections.")
    var patterns = 256

    @Option(help: "deep-scope: levels of the chain.")
    var levels = 100_000

    @Option(help: "dear-undo: objects in the undone entry.")
    var objects = 200_000

    @Option(help: "bulk: rows of the import.")
    var rows = 1_000_000

    @Option(help: "guesses: connections that guess at the same time.")
    var guessers = 40

    var bounds: [(name: String, value: Int, range: ClosedRange<Int>)] {
        [
            ("connections", self.connections, 1...1_000), ("chunks", self.chunks, 1...1_000),
            ("patterns", self.patterns, 1...Limits.subscriptionsPerConnectionMax),
            ("levels", self.levels, 1...Limits.depthMax), ("objects", self.objects, 1...10_000_000),
            ("rows", self.rows, 1...10_000_000), ("guessers", self.guessers, 1...1_000),
        ]
    }
}
