import NIOConcurrencyHelpers
import NIOCore
import NestFraming
import NestModel
import NestProtocol

/// Clients at the nodes that survive, while the leader is killed: the longest time without an answer, and errors.
///
/// They do nothing about a fault: each has one connection, and sends its next write, without a key, when the last one
/// is answered.
struct ClusterSurvivors {
    let report: Report
    let cluster: BenchCluster
    let group: any EventLoopGroup
    let kills: Int

    /// The answers that end a measurement, after the kill.
    private static let answersAfter = 5

    private struct Progressed {
        var answers = 0
        var last = ContinuousClock.now
        var pause = Duration.zero
        var errors: [String] = []
        var isOver = false
    }

    func run() async throws {
        var pauses: [Double] = []
        var errors: [String] = []
        for number in 0..<self.kills {
            Progress.show("kill", number, of: self.kills)
            let leader = try await self.cluster.leader()
            let survivors = self.cluster.ports.indices.filter { $0 != leader }
            let states = survivors.map { _ in NIOLockedValueBox(Progressed()) }
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for (index, state) in zip(survivors, states) {
                    let connection = try await BenchConnection.connect(
                        host: "127.0.0.1",
                        port: self.cluster.ports[index],
                        on: self.group
                    )
                    tasks.addTask { await Self.write(connection, state) }
                }
                try await self.until("no write at a follower is answered") {
                    states.allSatisfy { $0.withLockedValue { $0.answers > 20 || !$0.errors.isEmpty } }
                }
                try await Task.sleep(for: .milliseconds(Int.random(in: 0..<200)))
                for state in states { state.withLockedValue { ($0.answers, $0.pause) = (0, .zero) } }
                await self.cluster.kill(leader)
                try await self.until("no write at a survivor is answered after a kill") {
                    states.allSatisfy {
                        $0.withLockedValue { $0.answers > Self.answersAfter || !$0.errors.isEmpty }
                    }
                }
                for state in states { state.withLockedValue { $0.isOver = true } }
                try await tasks.waitForAll()
            }
            for state in states {
                let result = state.withLockedValue { $0 }
                pauses.append(result.pause.seconds * 1_000)
                errors += result.errors
            }
            try await self.cluster.start(leader)
        }
        Progress.clear()
        let sorted = pauses.sorted()
        for percent in [50, 99] {
            self.report.add(
                Measurement(
                    workload: "cluster",
                    parameters: "pause at a survivor, p\(percent) of \(sorted.count)",
                    unit: "ms",
                    nest: [sorted[min(sorted.count - 1, sorted.count * percent / 100)]],
                    limitName: "",
                    limit: [],
                    isTime: true,
                    wanted: percent == 99 ? "below 1,000 ms, no errors" : nil
                )
            )
        }
        let kinds = Dictionary(grouping: errors) { $0 }.map { "\($1.count) \($0)" }.sorted()
        self.report.note(errors.isEmpty ? "no errors" : "errors: \(kinds.joined(separator: ", "))")
        guard errors.isEmpty else { throw BenchError.failed("clients at surviving nodes met \(errors.count) errors") }
    }

    private static func write(_ connection: BenchConnection, _ state: NIOLockedValueBox<Progressed>) async {
        var id: UInt32 = 0
        state.withLockedValue { $0.last = .now }
        while !state.withLockedValue({ $0.isOver || !$0.errors.isEmpty }) {
            id += 1
            do {
                _ = try await connection.request(Load.insertFrame(under: ObjectID(1), id: id))
                state.withLockedValue {
                    let now = ContinuousClock.now
                    $0.pause = max($0.pause, now - $0.last)
                    ($0.last, $0.answers) = (now, $0.answers + 1)
                }
            } catch {
                state.withLockedValue { $0.errors.append("\(error)") }
            }
        }
        try? await connection.close()
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
}
