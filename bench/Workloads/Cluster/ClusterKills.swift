import Histogram
import NIOCore
import NestClient
import NestFraming
import NestModel
import NestProtocol

/// Kills the leader again and again while clients write, measures the pauses, and checks what the nodes hold.
struct ClusterKills {
    let report: Report
    let cluster: BenchCluster
    let group: any EventLoopGroup
    let kills: Int

    private static let writers = 4

    func run() async throws {
        let leader = self.cluster.ports[try await self.cluster.leader()]
        let first = try await BenchConnection.connect(host: "127.0.0.1", port: leader, on: self.group)
        let made = try await first.request(
            TransactionMessage(WriteTransaction(mutations: [Load.insert(under: ObjectID(1), "kills")])).frame(id: 1)
        )
        guard let list = try ReceiptMessage(body: made.body).receipt.firstInserted else {
            throw BenchError.nothingInserted
        }
        try await first.close()
        let ledger = ClusterLedger()
        var pauses: [Double] = []
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for number in 0..<Self.writers {
                var writer = ClusterWriter("w\(number)", self.cluster, ledger, list: list, on: self.group)
                tasks.addTask { try await writer.run() }
            }
            defer { ledger.finish() }
            for number in 0..<self.kills {
                Progress.show("kill", number, of: self.kills)
                pauses.append(try await self.kill(ledger))
            }
            ledger.finish()
            try await tasks.waitForAll()
        }
        Progress.clear()
        self.report(pauses, ledger)
        try await self.check(ledger, list)
    }

    /// Kills the leader at a random moment, and starts it again after another node leads. Returns the pause in
    /// milliseconds.
    private func kill(_ ledger: ClusterLedger) async throws -> Double {
        let before = ledger.count
        try await self.until("the writers make no progress") { ledger.count > before + 20 }
        try await Task.sleep(for: .milliseconds(Int.random(in: 0..<300)))
        let index = try await self.cluster.leader()
        let port = self.cluster.ports[index]
        ledger.beginPause(killed: port)
        await self.cluster.kill(index)
        try await self.until("no write is acknowledged after a kill") { ledger.pause != nil }
        try await self.cluster.start(index)
        return (ledger.pause ?? .zero).seconds * 1_000
    }

    private func until(_ failure: String, _ isTrue: () -> Bool) async throws {
        let start = ContinuousClock.now
        while !isTrue() {
            guard (ContinuousClock.now - start).seconds < BenchCluster.patience else {
                throw BenchError.failed("\(failure) within \(Int(BenchCluster.patience)) s")
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    private func report(_ pauses: [Double], _ ledger: ClusterLedger) {
        let sorted = pauses.sorted()
        func percentile(_ percent: Int) -> Double { sorted[min(sorted.count - 1, sorted.count * percent / 100)] }
        for (percent, wanted) in [(50, "below 500 ms"), (99, "below 1,000 ms")] {
            self.report.add(
                Measurement(
                    workload: "cluster",
                    parameters: "pause after kill -9, p\(percent) of \(self.kills)",
                    unit: "ms",
                    nest: [percentile(percent)],
                    limitName: "",
                    limit: [],
                    isTime: true,
                    wanted: wanted
                )
            )
        }
        let refusals = ledger.refusals.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        self.report.note("\(ledger.count) writes acknowledged; writers met \(refusals.joined(separator: ", "))")
    }

    /// Every acknowledged row must be there, every key executed once, and all nodes must hold the same rows.
    private func check(_ ledger: ClusterLedger, _ list: ObjectID) async throws {
        try await self.cluster.caughtUp(to: ledger.head)
        var states: [SectionedSnapshot] = []
        for port in self.cluster.ports {
            let client = NestClient(ClientConfiguration(port: port, clientName: "nestbench", session: .fresh))
            states.append(try await client.fetch(BenchConnection.children(of: list)))
            await client.close()
        }
        guard let first = states.first else { return }
        var stored: [ObjectID: String] = [:]
        let title = first.projection.firstIndex(of: PropertyNumber(1))
        for row in first.sections.flatMap(\.rows) {
            stored[row.id] = title.flatMap { row.values[$0].stringValue } ?? ""
        }
        let lost = ledger.titles.filter { stored[$0.key] != $0.value }
        guard lost.isEmpty else { throw BenchError.failed("\(lost.count) acknowledged rows are lost") }
        guard Set(stored.values).count == stored.count else { throw BenchError.failed("a write was executed twice") }
        guard states.allSatisfy({ $0.sections == first.sections }) else {
            throw BenchError.failed("the nodes do not hold the same rows")
        }
        self.report.note("nothing acknowledged is lost, nothing was executed twice, \(states.count) nodes are equal")
    }
}
