import ArgumentParser
import Foundation
import NIOPosix
import NestModel
import NestProtocol

/// One client that means harm, and a few that work: how long these wait for their answers with it and without it, and how much
/// memory the server takes.
struct AttackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attack",
        abstract: "Attack a nestd in several ways, and measure how long others wait and how much memory it takes.",
        discussion: """
            Each attack gets a nestd of its own. A few bystanders commit one row, ping, get an object and connect, each on its own
            connections, every \(Bystander.pauseMilliseconds) ms: first alone, then beside the attack, until each is answered again. Then \
            the attackers are gone, --settle seconds pass, and nestd gets SIGTERM. A nestd that dies is reported, the other attacks \
            go on, and the command ends with status 1.

            \(Attack.list)

            Examples:
              nestbench attack
              nestbench attack held-replies predicate-mass --seconds 20
              nestbench attack bulk --rows 200000 --json
              nestbench attack predicate-mass row-bombs --terminate
              nestbench attack --nestd /tmp/older/nestd --markdown
            """
    )

    @Argument(help: ArgumentHelp("Which attacks; all of them when none is named.", valueName: "name"))
    var attacks: [Attack] = []

    @Option(help: "Seconds that the bystanders work alone, and about as long as an attack goes on.")
    var seconds = 10

    @Option(help: "Bystanders of each kind.")
    var bystanders = 2

    @Option(help: "Seconds after the attack until the memory is looked at again.")
    var settle = 10

    @Option(
        help:
            "Seconds that a bystander waits for its answer when the attack is over, and an attacker for one of its own."
    )
    var patience = 120

    @Flag(help: "Send SIGTERM in the middle of each attack, and not after it.")
    var terminate = false

    @Option(help: ArgumentHelp("The nestd to attack; without it the one beside nestbench.", valueName: "path"))
    var nestd: String?

    @Option(help: ArgumentHelp("The directory for stores.", valueName: "directory"))
    var directory = "/tmp"

    @OptionGroup(title: "Sizes") var sizes: AttackSizes

    @Flag(help: "One JSON object for each attack.")
    var json = false

    @Flag(help: "One row of a Markdown table for each attack: the p99 of the bystanders, and the memory.")
    var markdown = false

    func validate() throws {
        func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws {
            guard range.contains(value) else {
                throw ValidationError("--\(name) is \(range.lowerBound) to \(range.upperBound)")
            }
        }
        try check("seconds", self.seconds, 1...600)
        try check("bystanders", self.bystanders, 1...1_000)
        try check("settle", self.settle, 0...600)
        try check("patience", self.patience, 1...3_600)
        for (name, value, range) in self.sizes.bounds { try check(name, value, range) }
        guard !self.json || !self.markdown else { throw ValidationError("--json and --markdown exclude each other") }
    }

    func run() async throws {
        let report = AttackReport(self.json ? .json : self.markdown ? .markdown : .text)
        var hasDied = false
        report.begin()
        for attack in self.attacks.isEmpty ? Attack.allCases : self.attacks {
            Progress.show("\(attack.rawValue): prepares")
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

/// How large attacks are.
struct AttackSizes: ParsableArguments {
    @Option(help: "held-replies: connections.")
    var connections = 60

    @Option(help: "row-bombs: chunks of an import, each of 65,536 rows.")
    var chunks = 40

    @Option(help: "predicate-mass, predicates-left: subscriptions of each of 4 connections.")
    var patterns = 256

    @Option(help: "deep-scope: levels of the chain.")
    var levels = 100_000

    @Option(help: "dear-undo: objects of the entry that is undone.")
    var objects = 200_000

    @Option(help: "bulk: rows of the import.")
    var rows = 1_000_000

    @Option(help: "guesses: connections that guess at a time.")
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
