import ChaosProxy
import NestClient
import NestHistory
import NestModel
import NestTestSupport

/// A real server, or the nodes of a cluster, in trouble at random moments, clients that reach them over bad networks,
/// and the recorded history of the clients, piece by piece.
struct ChaosRun {
    let world: ChaosWorld
    let ledger: ChaosLedger
    var random: SeededRandom
    /// A client with direct connections.
    private let observer: NestClient

    /// `nodes`: the number of servers; more than one make a cluster.
    init(seed: UInt64, nodes: Int) async throws {
        self.random = SeededRandom(seed: seed)
        self.world = try await ChaosWorld.started(nodes, seed: seed)
        var configuration = await self.world.configuration(
            network: nil,
            session: Identifier128.random(using: &self.random)
        )
        configuration.requestTimeout = .seconds(50)
        self.observer = NestClient(configuration)
        var write = Write(name: "list", mutations: [ListModel.insert("list", under: ListModel.root)])
        let receipt = try await self.observer.transaction(
            WriteTransaction(name: write.name, mutations: write.mutations)
        )
        write.answers = [.receipt(receipt)]
        guard let list = receipt.firstInserted else { throw ProcessFailure("the list was not inserted") }
        self.ledger = ChaosLedger(list: list)
        await self.ledger.add(write)
        for node in self.world.nodes { _ = try await node.server.answers(about: list, at: receipt.revision) }
        await self.world.trouble()
    }

    /// Returns the sum of a statistic over all server processes.
    func total(_ statistic: String) async -> UInt64 { await self.ledger.statistics[statistic] ?? 0 }

    /// Returns the settings of a new client. The first two networks have random faults. The third stalls so long that
    /// the server's buffers fill and it must compute net diffs. The other clients connect directly.
    mutating func configuration(network number: Int?) async -> ClientConfiguration {
        await self.world.configuration(network: number, session: Identifier128.random(using: &self.random))
    }

    mutating func fork() -> SeededRandom { SeededRandom(seed: self.random.next()) }

    // MARK: Course

    /// Runs `count` pieces and checks each before the next begins. Watchers run through all pieces; each piece has new
    /// writers.
    mutating func run(pieces count: Int, of duration: Duration, _ checker: ChaosChecker) async throws {
        let watchers = await self.watchers()
        var pieces: [[Participant]] = []
        for number in 1...count { pieces.append(await self.writers(inPiece: number)) }
        let (course, own) = (self, self.fork())
        var participants = watchers
        participants.append(
            Participant(name: "coordinator", isAwaited: false) { [pieces] in
                var random = own
                for (index, writers) in pieces.enumerated() {
                    try await course.write(writers, for: duration, &random)
                    let (piece, last) = try await course.settle(index + 1, of: count)
                    try await checker.check(piece, to: last)
                }
            }
        )
        try await Self.finish(participants, within: nil, self.ledger)
        await self.observer.close()
    }

    /// Runs all participants. The error names those that are not done in time.
    private static func finish(_ participants: [Participant], within time: Duration?, _ ledger: ChaosLedger)
        async throws
    {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for participant in participants {
                if participant.isAwaited { await ledger.began(participant.name) }
                group.addTask {
                    try await participant.run()
                    await ledger.ended(participant.name)
                    return true
                }
            }
            if let time {
                group.addTask {
                    try await Task.sleep(for: time)
                    return false
                }
            }
            for _ in participants {
                guard try await group.next() == true else {
                    throw ProcessFailure("waited too long for \(await ledger.waitingFor)")
                }
            }
            group.cancelAll()
        }
    }

    /// Runs the writers while the servers and networks are in trouble. At the end all servers run and the networks have
    /// no faults.
    private func write(_ writers: [Participant], for duration: Duration, _ random: inout SeededRandom) async throws {
        let (world, ledger) = (self.world, self.ledger)
        await world.trouble()
        await ledger.allowWrites()
        let faults = ChaosFaults(world, ledger, self.observer, for: duration, SeededRandom(seed: random.next()))
        let linkFaults = ChaosFaults(world, ledger, self.observer, for: duration, SeededRandom(seed: random.next()))
        let trouble = Participant(name: "trouble", isAwaited: false) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    var faults = faults
                    try await world.nodes.count == 1 ? faults.killServer() : faults.troubleServers()
                }
                if world.nodes.count > 1 {
                    group.addTask {
                        var faults = linkFaults
                        try await faults.troubleLinks()
                    }
                }
                try await group.waitForAll()
            }
            await ledger.stop()
            await world.calm()
        }
        try await Self.finish(writers + [trouble], within: duration + .testPatience, ledger)
    }

    /// Writes the last revision of the piece, waits until all subscribers have received it, and returns the history of
    /// the piece.
    private func settle(_ number: Int, of count: Int) async throws -> (piece: History, last: Revision) {
        let isLast = number == count
        let title = isLast ? ChaosLedger.endTitle : "piece \(number)"
        let mutations = [ListModel.insert(title, isDone: true, under: self.ledger.list)]
        var write = Write(name: isLast ? ChaosLedger.endName : title, mutations: mutations)
        let receipt = try await self.observer.transaction(WriteTransaction(name: write.name, mutations: mutations))
        write.answers = [.receipt(receipt)]
        await self.ledger.add(write)
        await self.ledger.acknowledged(mutations, receipt)
        if isLast { await self.ledger.end(receipt.revision) }
        try await self.world.restart()
        let deadline = ContinuousClock.now + Duration.testPatience
        while true {
            let waitingFor = await self.ledger.waitingFor
            if !isLast || waitingFor.isEmpty, let piece = await self.ledger.takePiece(to: receipt.revision) {
                return (piece, receipt.revision)
            }
            guard ContinuousClock.now < deadline else {
                let late = isLast ? waitingFor : await self.ledger.lagging(at: receipt.revision).sorted()
                throw ProcessFailure("waited too long for \(late)")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
