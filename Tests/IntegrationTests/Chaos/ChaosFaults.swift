import ChaosProxy
import NestClient
import NestTestSupport

#if canImport(Glibc)
import Glibc
#endif

/// Faults of servers and of the networks between them, chosen by a seed, one after the other.
struct ChaosFaults {
    private enum Fault: String {
        case kill, terminate, freeze
        case cutPeers, stutterPeers
        case cutLog, stutterLog, swallowAnswers
        case restartLog, crashLog

        static let ofServers: [Fault] = [.kill, .kill, .terminate, .freeze]
        static let ofLinks: [Fault] = [
            .cutPeers, .stutterPeers, .cutLog, .stutterLog, .swallowAnswers, .restartLog, .crashLog,
        ]
    }

    private let world: ChaosWorld
    private let ledger: ChaosLedger
    /// Asks a single server for its statistics before it is killed.
    private let observer: NestClient
    private let end: ContinuousClock.Instant
    /// Whether there is time for faults that outlive a lease.
    private let isLong: Bool
    private var random: SeededRandom

    init(
        _ world: ChaosWorld,
        _ ledger: ChaosLedger,
        _ observer: NestClient,
        for duration: Duration,
        _ random: SeededRandom
    ) {
        self.world = world
        self.ledger = ledger
        self.observer = observer
        self.end = .now + duration
        self.isLong = duration >= .seconds(25)
        self.random = random
    }

    /// Kills and restarts the only server.
    mutating func killServer() async throws {
        while ContinuousClock.now < self.end {
            // Some server processes live long enough for a client to lag.
            try await self.pause(self.random.oneIn(3) ? 6_000 : 300 + self.random.below(3_000))
            await self.ledger.add(try await self.observer.statistics())
            try await self.kill(self.world.nodes[0])
        }
    }

    /// Kills, stops and freezes nodes, one at a time.
    mutating func troubleServers() async throws { try await self.run(Fault.ofServers) }

    /// Disturbs links between nodes, and PostgreSQL and the links to it, one at a time.
    mutating func troubleLinks() async throws { try await self.run(Fault.ofLinks) }

    private mutating func run(_ faults: [Fault]) async throws {
        while ContinuousClock.now < self.end {
            try await self.pause(self.random.oneIn(4) ? 3_000 : 200 + self.random.below(1_500))
            let fault = faults[self.random.below(faults.count)]
            let node = self.world.nodes[self.random.below(self.world.nodes.count)]
            await self.ledger.count(fault.rawValue)
            try await self.commit(fault, at: node)
        }
    }

    private mutating func commit(_ fault: Fault, at node: ChaosWorld.Node) async throws {
        switch fault {
        case .kill: try await self.kill(node)
        case .terminate:
            try await node.server.terminate()
            try await node.server.start()
        case .freeze:
            await node.server.process?.send(signal: SIGSTOP)
            try await self.pause(self.span())
            await node.server.process?.send(signal: SIGCONT)
        case .cutPeers: try await self.disturb(node.peers, "refuse")
        case .stutterPeers: try await self.disturb(node.peers, self.stutter())
        case .cutLog: try await self.disturb(node.log, "refuse")
        case .stutterLog: try await self.disturb(node.log, self.stutter())
        case .swallowAnswers: try await self.disturb(node.log, "half-open=\(self.random.below(400)) to-client")
        case .restartLog, .crashLog:
            try await self.world.postgres?.stop(fault == .restartLog ? .fast : .immediate)
            try await self.pause(self.random.below(800))
            try await self.world.postgres?.start()
        }
    }

    private mutating func kill(_ node: ChaosWorld.Node) async throws {
        if await node.server.process?.poll() != nil {
            throw ProcessFailure("a server ended by itself\(await node.server.process?.report ?? "")")
        }
        try await node.server.killNow()
        if self.random.oneIn(2) { try await self.pause(self.random.below(600)) }
        try await node.server.start()
    }

    /// Gives a network these faults for a while. A network that refuses connections also ends those that it has.
    private mutating func disturb(_ proxy: ChaosProxy?, _ text: String) async throws {
        let faults = try Faults(text)
        await proxy?.follow(.fixed(faults))
        if faults.isRefusing { await proxy?.resetAll() }
        try await self.pause(self.span())
        await proxy?.follow(.fixed(.none))
    }

    private mutating func stutter() -> String {
        switch self.random.below(4) {
        case 0: "delay=\(1 + self.random.below(60))ms"
        case 1: "throttle=\(1 + self.random.below(64))k"
        case 2: "resegment=\(self.random.oneIn(2) ? "1" : "random") delay=\(self.random.below(10))ms"
        default: "stall=\(self.random.below(2_000))\([" to-server", " to-client", ""][self.random.below(3)])"
        }
    }

    /// Returns the length of a fault in milliseconds. In long runs some outlive the lease of the leader.
    private mutating func span() -> Int {
        self.isLong && self.random.oneIn(8) ? 7_000 + self.random.below(3_000) : 150 + self.random.below(2_000)
    }

    private func pause(_ milliseconds: Int) async throws { try await Task.sleep(for: .milliseconds(milliseconds)) }
}
