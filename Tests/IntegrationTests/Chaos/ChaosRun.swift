import ChaosProxy
import NestClient
import NestHistory
import NestModel
import NestTestSupport

/// A real server that is killed and comes back at random moments, and clients that reach it over bad networks; afterwards
/// the history of what they were told.
struct ChaosRun {
    private static let reconnectPauseMax = Duration.milliseconds(300)

    let seed: UInt64
    let duration: Duration
    private var random: SeededRandom
    /// Who has the slow network.
    private static let slow = 2
    private let server: ServerProcess
    private let ledger: ChaosLedger
    /// Without a bad network between.
    private let observer: NestClient
    private var proxies: [ChaosProxy] = []

    init(seed: UInt64, duration: Duration) async throws {
        self.seed = seed
        self.duration = duration
        self.random = SeededRandom(seed: seed)
        self.server = try await ServerProcess.started()
        var configuration = await self.server.configuration()
        configuration.reconnectPauseMax = Self.reconnectPauseMax
        self.observer = NestClient(configuration)
        var write = Write(name: "list", mutations: [ListModel.insert("list", under: ListModel.root)])
        let receipt = try await self.observer.transaction(Transaction(name: write.name, mutations: write.mutations))
        write.answers = [.receipt(receipt)]
        guard let list = receipt.firstInserted else { throw ProcessFailure("the list was not inserted") }
        self.ledger = ChaosLedger(list: list)
        await self.ledger.add(write)
        for number in 0..<2 {
            let port = await self.server.port
            let plan = ProxyPlan.random(seed: seed << 8 | UInt64(number))
            self.proxies.append(try await ChaosProxy.start(to: .init(port: port), plan: plan, seed: seed))
        }
        let plan = try ProxyPlan(script: "2s calm, 8s stall to-client")
        self.proxies.append(try await ChaosProxy.start(to: .init(port: await self.server.port), plan: plan, seed: seed))
    }

    /// A figure of the server, added up over its lives.
    func total(_ statistic: String) async -> UInt64 { await self.ledger.statistics[statistic] ?? 0 }

    /// Everything that happened.
    mutating func history() async throws -> History {
        let participants = await self.participants()
        let (ledger, deadline) = (self.ledger, self.duration + ChildProcess.patience)
        let conduct = self.conductor()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for (name, run) in participants {
                await ledger.began(name)
                group.addTask {
                    try await run()
                    await ledger.ended(name)
                    return true
                }
            }
            group.addTask {
                try await conduct()
                return true
            }
            group.addTask {
                try await Task.sleep(for: deadline)
                return false
            }
            for _ in 0...participants.count {
                guard try await group.next() == true else {
                    throw ProcessFailure("waited too long for \(await ledger.waitingFor)")
                }
            }
            group.cancelAll()
        }
        var history = await self.ledger.history
        history.audit = try await self.server.audit()
        for proxy in self.proxies { await proxy.stop() }
        await self.observer.close()
        return history
    }

    private typealias Work = @Sendable () async throws -> Void

    private mutating func participants() async -> [(String, Work)] {
        var participants: [(String, Work)] = []
        let ledger = self.ledger
        for number in 0...4 {
            let configuration = await self.configuration(proxy: number == Self.slow ? nil : number)
            let writer = ChaosWriter("w\(number)", configuration, ledger, isBulky: number == 4, self.fork())
            participants.append((writer.name, { try await writer.run() }))
        }
        for number in 0...3 {
            let client = NestClient(await self.configuration(proxy: number))
            for kind in number == Self.slow ? [.bulky] : ChaosSubscriber.kinds {
                let name = "s\(number) \(kind)"
                participants.append(
                    (
                        name,
                        {
                            try await client.connectAtLast()
                            try await ChaosSubscriber.watch(WatchedQuery(kind, of: ledger.list), name, client, ledger)
                        }
                    )
                )
            }
        }
        for number in [0, 1, 3] {
            let client = NestClient(await self.configuration(proxy: number))
            for kind in ChaosSubscriber.kinds {
                let (name, turns) = ("s\(number) part of \(kind)", ChaosTurns(self.fork()))
                let query = WatchedQuery(kind, of: ledger.list, window: .range(offset: number, limit: 6))
                participants.append(
                    (
                        name,
                        {
                            try await client.connectAtLast()
                            try await ChaosSubscriber.watch(query, name, client, ledger, turns: turns)
                        }
                    )
                )
            }
        }
        for number in 0..<4 {
            let follower = ChaosFollower(
                name: "f\(number)",
                configuration: await self.configuration(proxy: number),
                ledger: ledger,
                isSteady: number % 2 == 0,
                random: self.fork()
            )
            participants.append(
                (
                    follower.name,
                    {
                        var follower = follower
                        try await follower.run()
                    }
                )
            )
        }
        return participants
    }

    private mutating func fork() -> SeededRandom { SeededRandom(seed: self.random.next()) }

    /// The first two have a random network each, the third one that stands still so long that the server's buffers fill and
    /// it must keep what is missing; the others have only the server's deaths to bear.
    private mutating func configuration(proxy number: Int?) async -> ClientConfiguration {
        let session = Identifier128.random(using: &self.random)
        var configuration = await self.server.configuration(session: session, requestTimeout: .seconds(4))
        if let number, self.proxies.indices.contains(number) { configuration.port = await self.proxies[number].port }
        configuration.connectTimeout = .seconds(2)
        configuration.reconnectPauseMax = Self.reconnectPauseMax
        return configuration
    }

    /// Kills the server again and again; in the end mends everything, and writes what all are waiting for.
    private mutating func conductor() -> Work {
        let (server, ledger, observer, proxies) = (self.server, self.ledger, self.observer, self.proxies)
        let (duration, own) = (self.duration, self.fork())
        return {
            var random = own
            let end = ContinuousClock.now + duration
            while ContinuousClock.now < end {
                // Now and then it lives long enough to fall behind with somebody.
                try await Task.sleep(for: .milliseconds(random.oneIn(3) ? 6_000 : 300 + random.below(3_000)))
                await ledger.add(try await observer.statistics())
                try await server.killNow()
                if random.oneIn(2) { try await Task.sleep(for: .milliseconds(random.below(600))) }
                try await server.start()
            }
            await ledger.stop()
            for proxy in proxies { await proxy.follow(.fixed(.none)) }
            while await ledger.waitingFor.contains(where: { $0.hasPrefix("w") }) {
                try await Task.sleep(for: .milliseconds(5))
            }
            let last = ListModel.insert(ChaosLedger.endTitle, isDone: true, under: ledger.list)
            var write = Write(name: ChaosLedger.endName, mutations: [last])
            let receipt = try await observer.transaction(Transaction(name: write.name, mutations: write.mutations))
            write.answers = [.receipt(receipt)]
            await ledger.add(write)
            await ledger.end(receipt.revision)
            try await server.restart()
        }
    }
}

extension ServerProcess {
    /// All changes of a run, as somebody reads them who saw nothing before.
    func audit() async throws -> [ChangeSetPart] {
        try await NestClient.withClient(self.configuration()) { client in
            guard let store = await client.server?.historyID else { throw ProcessFailure("not connected") }
            let start = ResumePoint(historyID: store, revision: Revision(0))
            return try await client.withChanges(since: start) { changes in
                var parts: [ChangeSetPart] = []
                for try await event in changes {
                    guard case .changes(let part) = event else { continue }
                    parts.append(part)
                    if part.name == ChaosLedger.endName { break }
                }
                return parts
            }
        }
    }
}
