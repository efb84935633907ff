import ArgumentParser
import Histogram
import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Inserts, moves and deletes among the children of one parent, with a subscriber of the list.
struct OrderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "order",
        abstract: "Insert, move and delete among 1 k to 1 M siblings, against a commit that appends to an empty list.",
        discussion: "Example: nestbench order --sizes 1000 100000"
    )
    @OptionGroup var options: BenchOptions
    @Option(parsing: .upToNextOption, help: "Lengths of the list.") var sizes = [1_000, 10_000, 100_000, 1_000_000]
    @Option(help: "Operations of each kind in each round.") var operations = 1_000

    func run() async throws {
        let target = try BenchTarget(self.options)
        let report = Report(isJSON: self.options.json)
        for size in self.sizes {
            let connection = try await target.connect()
            let list = try await self.makeList(connection, size)
            let subscriber = try await target.connect()
            try await subscriber.subscribe(to: list.parent) { _ in }
            for kind in Kind.allCases {
                try await self.measure(target, report, kind, size, list, subscriber)
            }
            try await subscriber.close()
            try await connection.close()
        }
        try await target.shutdown()
    }

    enum Kind: String, CaseIterable {
        case insertHead = "insert at the head"
        case insertMiddle = "insert in the middle"
        case sameGap = "insert into one gap"
        case moveToHead = "move to the head"
        case delete = "delete at the head"
    }

    struct List: Sendable {
        var parent: ObjectID
        var first: Int64
        var count: Int
    }

    /// Creates a list of `size` items.
    private func makeList(_ connection: BenchConnection, _ size: Int) async throws -> List {
        let frame = try await connection.request(
            TransactionMessage(WriteTransaction(mutations: [Load.insert(under: ObjectID(1), "list of \(size)")])).frame(
                id: 1
            )
        )
        guard let parent = try ReceiptMessage(body: frame.body).receipt.firstInserted else {
            throw BenchError.refused(frame)
        }
        // 5,000 mutations in a transaction are below the limit. The server keeps one undo entry for each transaction.
        var first: Int64 = 0
        var requestID: UInt32 = 2
        for start in stride(from: 0, to: size, by: 5_000) {
            let mutations = (start..<min(start + 5_000, size)).map { _ in Load.insert(under: parent) }
            let answer = try await connection.request(
                TransactionMessage(WriteTransaction(mutations: mutations)).frame(id: requestID)
            )
            requestID += 1
            if start == 0 { first = try ReceiptMessage(body: answer.body).receipt.firstInserted?.rawValue ?? 0 }
        }
        return List(parent: parent, first: first, count: size)
    }

    private func measure(
        _ target: BenchTarget,
        _ report: Report,
        _ kind: Kind,
        _ size: Int,
        _ list: List,
        _ subscriber: BenchConnection
    ) async throws {
        var measurement = Measurement(
            workload: "order",
            parameters: "\(kind.rawValue) of \(Report.short(Double(size)))",
            unit: "us",
            nest: [],
            limitName: "the same server appending to an empty list; median time of one commit",
            limit: [],
            isTime: true
        )
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000)
        let operations = min(self.operations, size / 4)
        let bytes = NIOLoopBoundBox.makeBoxSendingValue(0, eventLoop: subscriber.channel.eventLoop)
        try await subscriber.configure { bytes.value = $0.bytesRead }
        let renumberedBefore = try await target.statistic("rows_renumbered")
        for round in 0..<self.options.rounds {
            let connection = try await target.connect()
            let middle = ObjectID(list.first + Int64(size / 2))
            let offset = Int64(round * operations)
            let nest = try await Pipeline.run(
                connection,
                depth: 1,
                total: operations,
                firstID: 1,
                answers: [.receipt]
            ) { id in
                let mutation: Mutation
                switch kind {
                case .insertHead: mutation = Load.insert(under: list.parent, Load.title, .first)
                case .insertMiddle:
                    let sibling = ObjectID(list.first + Int64(size / 4) + Int64(id) % Int64(size / 2))
                    mutation = Load.insert(under: list.parent, Load.title, .after(.object(sibling)))
                case .sameGap: mutation = Load.insert(under: list.parent, Load.title, .after(.object(middle)))
                case .moveToHead:
                    let moved = ObjectID(list.first + Int64(size) - 1 - (offset + Int64(id)) % Int64(size / 4))
                    mutation = .move(
                        .object(moved),
                        Placement(relationship: PropertyNumber(5), owner: .object(list.parent), place: .first)
                    )
                case .delete:
                    mutation = .delete(.object(ObjectID(list.first + offset + Int64(id))))
                }
                return TransactionMessage(WriteTransaction(mutations: [mutation])).frame(id: id)
            }
            let parent = try await target.makeParent(connection, UInt32(operations + 1))
            let limit = try await Pipeline.run(
                connection,
                depth: 1,
                total: operations,
                firstID: UInt32(operations + 2),
                answers: [.receipt]
            ) { Load.insertFrame(under: parent, id: $0) }
            measurement.nest.append(Double(nest.valueAtPercentile(50)))
            measurement.limit.append(Double(limit.valueAtPercentile(50)))
            latency.add(nest)
            try await connection.close()
        }
        try await subscriber.configure { bytes.value = $0.bytesRead - bytes.value }
        let total = try await subscriber.channel.eventLoop.submit { bytes.value }.get()
        measurement.latency = latency
        report.add(measurement)
        let renumbered = try await target.statistic("rows_renumbered") - renumberedBefore
        let count = operations * self.options.rounds
        report.note(
            "\(total / count) bytes to a subscriber of the list, "
                + "\(Report.fixed(1 + Double(renumbered) / Double(count))) rows written, for each operation"
        )
    }
}
