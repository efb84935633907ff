import ArgumentParser
import Histogram
import NIOConcurrencyHelpers
import NestClient
import NestModel
import NestProtocol

/// How long a write of very many objects lets the commits of another client wait.
struct BulkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bulk",
        abstract: "Import a tree, undo and redo that, delete it and undo that, while another client commits rows.",
        discussion: """
            The figure is the longest time of one of the other client's one-row commits, one at a time. Its limit is \
            the median of the same commits while nothing else happens.

            Example: nestbench bulk --items 1000000 --shapes ten
            """
    )
    @OptionGroup var options: BenchOptions
    @Option(help: "Items in the tree.") var items = 100_000
    @Option(parsing: .upToNextOption, help: "Shapes: chain, ten or flat.") var shapes = [TreeShape.ten]
    @Option(help: "Commits to time while nothing else happens.") var commits = 2_000

    /// A write of all items, in the order in which they run.
    enum Step: String, CaseIterable {
        case load = "import"
        case undo = "undo of the import"
        case redo = "redo of the import"
        case delete = "delete"
        case restore = "undo of the delete"
    }

    func run() async throws {
        let report = Report(isJSON: self.options.json)
        for shape in self.shapes {
            let target = try BenchTarget(self.options)
            let configuration = ClientConfiguration(
                host: target.host,
                port: target.port,
                clientName: "nestbench",
                session: .fresh
            )
            try await NestClient.withClient(configuration) { try await self.measure(shape, $0, target, report) }
            try await target.shutdown()
        }
    }

    private func measure(
        _ shape: TreeShape,
        _ client: NestClient,
        _ target: BenchTarget,
        _ report: Report
    ) async throws {
        let other = try await OtherClient(target)
        var figures = Step.allCases.map {
            LongestCommit(
                "bulk",
                "\($0.rawValue), \(Report.short(Double(self.items))), \(shape.rawValue)",
                wanted: "floor 1 s, goal 0.25 s"
            )
        }
        for round in 0..<self.options.rounds {
            let alone = Double(try await other.commit(self.commits).valueAtPercentile(50))
            var top: ObjectID?
            for (index, step) in Step.allCases.enumerated() {
                Progress.show("bulk: \(step.rawValue) of \(self.items) items, \(shape.rawValue), round \(round + 1)")
                let isDone = NIOLockedValueBox(false)
                let start = ContinuousClock.now
                let tree = top
                async let performed = {
                    defer { isDone.withLockedValue { $0 = true } }
                    let imported = try await self.perform(step, shape, client, tree)
                    return (seconds: (ContinuousClock.now - start).seconds, imported)
                }()
                var during = Histogram<UInt64>(highestTrackableValue: 600_000_000)
                repeat { during.add(try await other.commit(10)) } while !isDone.withLockedValue { $0 }
                let (seconds, imported) = try await performed
                // The server goes on with the rows of the write for a while.
                during.add(try await other.commit(self.commits))
                top = imported ?? top
                figures[index].add(during, alone: alone, seconds: seconds)
            }
        }
        Progress.clear()
        for figures in figures { figures.report("the write itself", to: report) }
        try await other.close()
    }

    /// Performs a step. Returns the top of the tree if it imported one.
    private func perform(
        _ step: Step,
        _ shape: TreeShape,
        _ client: NestClient,
        _ top: ObjectID?
    ) async throws -> ObjectID? {
        switch step {
        case .load:
            let depths = shape.depths(self.items)
            var next = 0
            let receipt = try await client.importSubtree(Load.importUnderRoot) { () -> [SubtreeRow]? in
                guard next < depths.count else { return nil }
                let numbers = next..<min(next + 1_000, depths.count)
                next = numbers.upperBound
                return numbers.map {
                    SubtreeRow(depth: depths[$0], id: nil, values: [.string(BenchText.title($0))])
                }
            }
            return receipt.firstInserted
        case .undo, .restore:
            _ = try await client.undo()
        case .redo:
            _ = try await client.redo()
        case .delete:
            guard let top else { throw BenchError.nothingInserted }
            _ = try await client.transaction(WriteTransaction(mutations: [.delete(.object(top))]))
        }
        return nil
    }

    /// A client that commits rows below an item of its own.
    final class OtherClient {
        private let connection: BenchConnection
        private let parent: ObjectID
        private var nextID: UInt32 = 2

        init(_ target: BenchTarget) async throws {
            self.connection = try await target.connect()
            self.parent = try await target.makeParent(self.connection, 1)
        }

        /// Commits rows, one at a time.
        func commit(_ count: Int) async throws -> Histogram<UInt64> {
            defer { self.nextID += UInt32(count) }
            let parent = self.parent
            return try await Pipeline.run(
                self.connection,
                depth: 1,
                total: count,
                firstID: self.nextID,
                answers: [.receipt]
            ) { Load.insertFrame(under: parent, id: $0) }
        }

        func close() async throws { try await self.connection.close() }
    }
}
