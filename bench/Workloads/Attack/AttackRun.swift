import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestModel
import NestProtocol

/// One attack on one nestd, from its preparation to the server's end.
struct AttackRun {
    private let command: AttackCommand
    private let attack: Attack
    private let server: AttackServer

    init(_ command: AttackCommand, _ attack: Attack, _ server: AttackServer) {
        self.command = command
        self.attack = attack
        self.server = server
    }

    func figures() async throws -> AttackFigures {
        let attacker = try await self.attack.prepare(self.command.sizes, on: self.server)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let site = AttackSite(
            port: self.server.child.port,
            loop: group.next(),
            token: self.server.token,
            patience: self.server.patience
        )
        let bystanders = Bystander.Kind.allCases.flatMap { kind in
            (0..<self.command.bystanders).map { _ in Bystander(kind, at: site) }
        }
        let work = Task {
            await withTaskGroup { tasks in
                for bystander in bystanders { tasks.addTask { await bystander.work() } }
            }
        }
        var figures = AttackFigures(self.attack)
        try await self.measure(attacker, bystanders, &figures)
        for bystander in bystanders { bystander.stop() }
        if !self.command.terminate, figures.died == nil {
            self.show("waiting \(self.command.settle) s")
            try await Task.sleep(for: .seconds(self.command.settle))
            if self.server.child.end == nil { figures.memory.after = self.server.child.memory.resident }
            try await self.terminate(&figures)
        }
        await work.value
        try await group.shutdownGracefully()
        return figures
    }

    /// The seconds after SIGTERM until a server that has not ended is killed.
    private static let terminationSecondsMax = 20.0

    private func measure(_ attacker: any Attacker, _ bystanders: [Bystander], _ figures: inout AttackFigures)
        async throws
    {
        // Excludes the cost of new connections from both measurements.
        try await self.waitForAnswers(bystanders)
        _ = Self.take(bystanders)
        self.show("alone")
        try await Task.sleep(for: .seconds(self.command.seconds))
        figures.alone = Self.take(bystanders)

        let memory = self.server.child.memory
        memory.resetPeak()
        figures.memory.before = memory.resident
        self.show("attacking")
        let start = ContinuousClock.now
        let deadline = start + .seconds(self.command.seconds)
        let isOver = NIOLockedValueBox(false)
        let work = Task {
            defer { isOver.withLockedValue { $0 = true } }
            return try await attacker.attack(until: deadline)
        }
        let middle = start + .milliseconds(self.command.seconds * 500)
        while !isOver.withLockedValue({ $0 }), self.server.child.end == nil {
            if self.command.terminate && middle.isOver { break }
            figures.memory.peak = max(figures.memory.peak, memory.peak)
            try await Task.sleep(for: .milliseconds(20))
        }
        if self.command.terminate { try await self.terminate(&figures) }
        // An attacker with the client library would try to reconnect.
        if self.server.child.end != nil { work.cancel() }
        do {
            figures.counts = try await work.value
        } catch {
            figures.failure = "\(error)"
        }
        figures.attackSeconds = (ContinuousClock.now - start).seconds
        self.show("waiting for replies")
        try await self.waitForAnswers(bystanders)
        figures.untilAnsweredSeconds = (ContinuousClock.now - start).seconds
        figures.attacked = Self.take(bystanders)
        figures.memory.peak = max(figures.memory.peak, memory.peak)
        if !self.command.terminate { figures.died = self.server.child.end }
    }

    private func terminate(_ figures: inout AttackFigures) async throws {
        figures.died = self.server.child.end
        guard figures.died == nil else { return }
        self.show("SIGTERM")
        figures.terminationSeconds = try await self.server.child.terminate(within: Self.terminationSecondsMax)
    }

    /// Waits until each bystander has received a reply to a request that it sent after this call, nestd has ended, or
    /// the patience has passed.
    private func waitForAnswers(_ bystanders: [Bystander]) async throws {
        // The next reply may be to an earlier request. The one after it is not.
        let wanted = bystanders.map { $0.answers + 2 }
        let deadline = ContinuousClock.now + .seconds(self.command.patience)
        while self.server.child.end == nil, !deadline.isOver {
            if zip(bystanders, wanted).allSatisfy({ $0.answers >= $1 }) { return }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private static func take(_ bystanders: [Bystander]) -> [Bystander.Kind: Waits] {
        var waits: [Bystander.Kind: Waits] = [:]
        for bystander in bystanders { waits[bystander.kind, default: Waits()].add(bystander.take()) }
        return waits
    }

    private func show(_ what: String) {
        Progress.show("\(self.attack.rawValue): \(what)")
    }
}
