import BenchEngine
import NestModel
import NestProtocol

/// Measures the allocated memory of a row in a result, of a subscription and of a connection.
struct ResultMemory {
    let report: Report
    let rounds: Int
    let rows: Int

    private static let connections = 10_000

    func run() throws {
        for key in SortedBy.allCases {
            let array = try self.sortedArray(key)
            try self.add("a row by \(key.rawValue), loaded", key, array) { try self.loaded(key) }
            try self.add("a row by \(key.rawValue), inserted", key, array) { try self.inserted(key) }
        }
        var connections: [Double] = []
        var subscriptions: [Double] = []
        for _ in 0..<self.rounds {
            let (connection, subscription) = try self.connections()
            connections.append(connection)
            subscriptions.append(subscription)
        }
        self.report.add(
            .bytes(of: "a subscription to a shared result", subscriptions, wanted: "1000 B, better 300 B")
        )
        self.report.add(.bytes(of: "an idle connection, in the engine", connections))
    }

    private func add(_ parameters: String, _ key: SortedBy, _ array: Double, _ body: () throws -> Double) throws {
        // One round is enough, because only allocations determine the figure.
        Progress.show("bytes of \(parameters)")
        var measurement = Measurement.bytes(
            of: parameters,
            [try body()],
            wanted: key == .integer ? "64 B, better 32 B" : "96 B"
        )
        measurement.limit = [array]
        measurement.limitName = "a sorted array of keys and ids"
        Progress.clear()
        self.report.add(measurement)
    }

    /// Drops a result, and returns the bytes that this frees for each row.
    private func bytes(of view: UInt32, _ subject: EngineSubject) -> Double {
        let before = memoryInUse()
        subject.drop(view: view, on: 2)
        return Double(before - memoryInUse()) / Double(self.rows)
    }

    /// Returns the bytes per row of a result that is created after all its rows.
    private func loaded(_ key: SortedBy) throws -> Double {
        let side = try TableSide(self.rows)
        let view = try side.subject.subscribe(TableModel.all(by: key), on: 2)
        let bytes = self.bytes(of: view, side.subject)
        try side.subject.close()
        return bytes
    }

    /// Returns the bytes per row of a result that is created with a quarter of its rows. The others are inserted at
    /// random positions, few at a time. The result does not keep its changes, so only its rows are measured.
    private func inserted(_ key: SortedBy) throws -> Double {
        let subject = try EngineSubject(TableModel.model, rowLogBytesMax: 0)
        subject.connect(1)
        var table = Table()
        try table.fill(subject, self.rows / 4)
        let view = try subject.subscribe(TableModel.all(by: key), on: 2)
        try table.fill(subject, self.rows - self.rows / 4)
        subject.tick()
        let bytes = self.bytes(of: view, subject)
        try subject.close()
        return bytes
    }

    private func sortedArray(_ key: SortedBy) throws -> Double {
        let before = memoryInUse()
        let bytes: Int
        switch key {
        case .integer:
            let array = (0..<self.rows).map { (Int64($0), ObjectID(Int64($0))) }
            bytes = withExtendedLifetime(array) { memoryInUse() - before }
        case .text:
            let array = (0..<self.rows).map { (Table.text(UInt64($0)), ObjectID(Int64($0))) }
            bytes = withExtendedLifetime(array) { memoryInUse() - before }
        }
        return Double(bytes) / Double(self.rows)
    }

    /// Returns the bytes of an idle connection, and of its subscription to a shared result.
    private func connections() throws -> (connection: Double, subscription: Double) {
        let count = Self.connections
        let side = try TableSide(ResultSize.smallRows)
        try side.subject.subscribe(TableModel.all(by: .integer), on: 2)
        let start = memoryInUse()
        let first = side.subject.connect(count)
        let connected = memoryInUse()
        for number in first..<(first + UInt64(count)) {
            try side.subject.subscribe(TableModel.all(by: .integer), on: number)
        }
        // The first change creates the list of its recipients.
        var table = Table()
        try table.fill(side.subject, 1)
        let subscribed = memoryInUse()
        try side.subject.close()
        return (Double(connected - start) / Double(count), Double(subscribed - connected) / Double(count))
    }
}

extension Measurement {
    /// A measurement of bytes, without a limit.
    static func bytes(of parameters: String, _ bytes: [Double], wanted: String? = nil) -> Measurement {
        Measurement(
            workload: "results",
            parameters: parameters,
            unit: "B",
            nest: bytes,
            limitName: "",
            limit: [],
            wanted: wanted
        )
    }
}
