import ChaosProxy
import NestClient
import NestHistory
import NestModel
import NestTestSupport

/// A real server that is killed and restarted at random moments, clients that reach it over bad networks, and the
/// recorded history of the clients, piece by piece.
struct ChaosRun {
    static let reconnectPauseMax = Duration.milliseconds(300)
    /// The number of the slow network.
    static let slow = 2

    let server: ServerProcess
    let ledger: ChaosLedger
    var random: SeededRandom
    /// A client with a direct connection.
    private let observer: NestClient
    private var proxies: [(proxy: ChaosProxy, plan: ProxyPlan)] = []

    init(seed: UInt64) async throws {
        self.random = SeededRandom(seed: seed)
        self.server = try await ServerProcess.started()
        var configuration = await self.server.configuration()
        configuration.reconnectPauseMax = Self.reconnectPauseMax
        self.observer = NestClient(configuration)
        var write = Write(name: "list", mutations: [ListModel.insert("list", under: ListModel.root)])
        let receipt = try await self.observer.transaction(
            WriteTransaction(name: write.name, mutations: write.mutations)
        )
        write.answers = [.receipt(receipt)]
        guard let list = receipt.firstInserted else { throw ProcessFailure("the list was not inserted") }
        self.ledger = ChaosLedger(list: list)
        await self.ledger.add(write)
        var plans = (0..<2).map { ProxyPlan.random(seed: seed << 8 | $0) }
        plans.append(try ProxyPlan(script: "2s calm, 3s stall to-client"))
        for plan in plans {
            let proxy = try await ChaosProxy.start(to: .init(port: await self.server.port), plan: plan, seed: seed)
            self.proxies.append((proxy, plan))
        }
    }

    /// Returns the sum of a statistic over all server processes.
    func total(_ statistic: String) async -> UInt64 { await self.ledger.statistics[statistic] ?? 0 }

    /// Returns the configuration of a client. The first two networks have random faults. The third stalls so long that
    /// the server's buffers fill and it must compute net diffs. The other clients connect directly.
    mutating func configuration(proxy number: Int?) async -> ClientConfiguration {
        let session = Identifier128.random(using: &self.random)
        var configuration = await self.server.configuration(session: session, requestTimeout: .seconds(4))
        if let number, self.proxies.indices.contains(number) {
            configuration.port = await self.proxies[number].proxy.port
        }
        configuration.connectTimeout = .seconds(2)
        configuration.reconnectPauseMax = Self.reconnectPauseMax
        return configuration
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
            Participant(name: "coordinator") { [pieces] in
                var random = own
                for (index, writers) in pieces.enumerated() {
                    try await course.write(writers, for: duration, &random)
                    let (piece, last) = try await course.settle(index + 1, of: count)
                    try await checker.check(piece, to: last)
                }
            }
        )
        try await Self.finish(participants, within: nil, self.ledger)
        for (proxy, _) in self.proxies { await proxy.stop() }
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

    /// Runs the writers while killing and restarting the server. At the end the server runs and the networks have no
    /// faults.
    private func write(_ writers: [Participant], for duration: Duration, _ random: inout SeededRandom) async throws {
        let (server, ledger, observer, proxies) = (self.server, self.ledger, self.observer, self.proxies)
        let seed = random.next()
        for (proxy, plan) in proxies { await proxy.follow(plan) }
        await ledger.allowWrites()
        let kills = Participant(name: "kills") {
            var random = SeededRandom(seed: seed)
            let end = ContinuousClock.now + duration
            while ContinuousClock.now < end {
                // Some server processes live long enough for a client to lag.
                try await Task.sleep(for: .milliseconds(random.oneIn(3) ? 6_000 : 300 + random.below(3_000)))
                await ledger.add(try await observer.statistics())
                try await server.killNow()
                if random.oneIn(2) { try await Task.sleep(for: .milliseconds(random.below(600))) }
                try await server.start()
            }
            await ledger.stop()
            for (proxy, _) in proxies { await proxy.follow(.fixed(.none)) }
        }
        try await Self.finish(writers + [kills], within: duration + .testPatience, ledger)
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
        try await self.server.restart()
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
