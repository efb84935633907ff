import ArgumentParser
import NestModel
import NestProtocol
import NestFraming

/// Deletes a tree, undoes the deletion and redoes it, each as one durable transaction, while a client subscribes to the
/// list with the tree.
struct UndoCommand: AsyncParsableCommand {
    enum Shape: String, CaseIterable, ExpressibleByArgument {
        case flat
        case chain
    }

    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Delete a tree of 1, 1 k and 1 M items, undo that, redo it, and undo it again.",
        discussion: """
            The limit is SQLite alone deleting the same rows with a recursive query, and inserting them again, in one
            transaction each and without a journal.

            Example: nestbench undo --sizes 1000 100000 --shapes chain
            """
    )
    @OptionGroup var options: BenchOptions
    @Option(parsing: .upToNextOption, help: "Items below the deleted item.") var sizes = [1, 1_000, 1_000_000]
    @Option(parsing: .upToNextOption, help: "All below one, or each below another.") var shapes = Shape.allCases

    func run() async throws {
        let report = Report(isJSON: self.options.json)
        for size in self.sizes {
            for shape in self.shapes where size > 1 || shape == .flat {
                // Each shape has its own server, so that the peak memory is that of the shape.
                let target = try BenchTarget(self.options)
                try await self.measure(size, shape, target, report)
                try await target.shutdown()
            }
        }
    }

    private func measure(_ size: Int, _ shape: Shape, _ target: BenchTarget, _ report: Report) async throws {
        Progress.show("undo: \(size) items, \(shape.rawValue)")
        let connection = try await target.connect()
        var requestID: UInt32 = 0
        func next() -> UInt32 {
            requestID += 1
            return requestID
        }
        let list = try await target.makeParent(connection, next())
        let top = try await self.insert([Load.insert(under: list)], connection, next())[0]
        try await self.fill(top, size, shape, connection, next)
        let subscriber = try await target.connect()
        try await subscriber.subscribe(to: list) { _ in }
        let limit = try SQLiteLimit(directory: self.options.directory)
        defer { limit.close() }
        try limit.fill(size, isChain: shape == .chain)
        var times: [[Double]] = [[], [], []]
        var limits: [[Double]] = [[], []]
        var uses: [[HardwareUse]] = [[], []]
        var growths = [0, 0, 0]
        for round in 0..<self.options.rounds {
            Progress.show("undo: \(size) items, \(shape.rawValue), round \(round + 1)")
            let deletion = WriteTransaction(mutations: [.delete(.object(top))])
            let frames = [
                TransactionMessage(deletion).frame(id: next()), Undo(key: nil).frame(id: next()),
                Redo(key: nil).frame(id: next()), Undo(key: nil).frame(id: next()),
            ]
            for (index, frame) in frames.enumerated() {
                var time = 0.0
                func request() async throws { time = try await seconds { _ = try await connection.request(frame) } }
                var growth = 0
                if let child = target.child { growth = try await child.growth(request) } else { try await request() }
                guard index < 3 else { continue }
                times[index].append(time * 1e6)
                growths[index] = max(growths[index], growth)
            }
            let disk = try Disk.syncsPerSecond(in: self.options.directory)
            for (index, change) in [limit.deleteTree, limit.insertTree].enumerated() {
                let meter = HardwareMeter()
                limits[index].append(try change() * 1e6)
                uses[index].append(meter.stop(syncs: 1, disk: disk))
            }
        }
        Progress.clear()
        let names = ["delete", "undo", "redo"]
        for (index, name) in names.enumerated() {
            report.add(
                Measurement(
                    workload: "undo",
                    parameters: "\(name) of \(Report.short(Double(size)))\(size > 1 ? ", \(shape.rawValue)" : "")",
                    unit: "us",
                    nest: times[index],
                    limitName: index == 1
                        ? "SQLite alone inserting the rows, FULL"
                        : "SQLite alone deleting the rows by a recursive query, FULL",
                    limit: limits[index % 2],
                    limitUse: uses[index % 2],
                    isTime: true,
                    wanted: size >= 1_000_000 && index == 0 ? "floor 2.5, goal 1.8" : nil
                )
            )
        }
        if target.child != nil {
            let each = zip(names, growths).map { "\($0) \(Report.fixed(Double($1) / 1e6))" }
            report.note("the server's memory grew by at most, in MB: \(each.joined(separator: ", "))")
        }
        try await subscriber.close()
        try await connection.close()
    }

    private func insert(_ mutations: [Mutation], _ connection: BenchConnection, _ id: UInt32) async throws -> [ObjectID]
    {
        let frame = try await connection.request(
            TransactionMessage(WriteTransaction(mutations: mutations)).frame(id: id)
        )
        return try ReceiptMessage(body: frame.body).receipt.insertedIDs
    }

    private func fill(
        _ top: ObjectID,
        _ size: Int,
        _ shape: Shape,
        _ connection: BenchConnection,
        _ next: () -> UInt32
    ) async throws {
        var last = top
        for start in stride(from: 0, to: size, by: 5_000) {
            let mutations = (start..<min(start + 5_000, size)).map { index -> Mutation in
                guard shape == .chain, index > start else { return Load.insert(under: last) }
                return .insert(
                    entity: EntityNumber(1),
                    values: [PropertyAssignment(PropertyNumber(1), .value(.string(Load.title)))],
                    placements: [
                        Placement(
                            relationship: PropertyNumber(5),
                            owner: .inserted(index - start),
                            place: .last
                        )
                    ]
                )
            }
            let inserted = try await self.insert(mutations, connection, next())
            if shape == .chain, let newest = inserted.last { last = newest }
        }
    }
}
