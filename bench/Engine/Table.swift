import NestModel

/// The rows that a workload has written, and mutations at random positions among them.
///
/// Numbers are spread evenly over 0..<2^48. A name has twelve letters and is derived from a number, so that rows have
/// the same order by number and by name.
package struct Table {
    package enum Change: String, CaseIterable, Sendable {
        case update
        case insert
        case delete
    }

    /// The rows in the middle half of the order, which updates and deletions choose from.
    private var middle: [ObjectID] = []
    private var random = SplitMix64(seed: 1)
    private let list: ObjectID?
    /// The number of the first row, which decreases with each insert at the head.
    private var head: Int64 = 0

    /// `list`: the list that contains the rows.
    package init(list: ObjectID? = nil) {
        self.list = list
    }

    private static let span: UInt64 = 1 << 48

    /// Inserts `count` rows at random positions. Subscribers see each batch as one change.
    package mutating func fill(
        _ subject: EngineSubject,
        _ count: Int,
        batch: Int = 10_000,
        progress: (Int) -> Void = { _ in }
    ) throws {
        var written = 0
        while written < count {
            let keys = (0..<min(batch, count - written)).map { _ in self.random.next() % Self.span }
            let steps = keys.map { self.insert($0) }
            let transactions = stride(from: 0, to: steps.count, by: 10_000).map {
                Array(steps[$0..<min($0 + 10_000, steps.count)])
            }
            let ids = try subject.write(transactions).inserted
            for (id, key) in zip(ids, keys) where Self.isMiddle(key) { self.middle.append(id) }
            written += keys.count
            progress(written)
        }
    }

    /// Creates `count` mutations, commits each one separately and records the inserted rows.
    package mutating func time(
        _ change: Change,
        _ count: Int,
        by key: SortedBy,
        _ subject: EngineSubject,
        _ clock: () -> Double
    ) throws -> EngineSubject.Run {
        var steps: [[Mutation]] = []
        for _ in 0..<count { steps.append([self.step(change, key)]) }
        let run = try subject.time(steps, clock)
        self.middle += run.inserted
        return run
    }

    /// Inserts rows before all others and commits each one separately.
    package mutating func timeHeadInserts(
        _ count: Int,
        _ subject: EngineSubject,
        _ clock: () -> Double
    ) throws -> EngineSubject.Run {
        var steps: [[Mutation]] = []
        for _ in 0..<count {
            self.head -= 1
            steps.append([
                .insert(
                    entity: TableModel.row,
                    values: [
                        PropertyAssignment(TableModel.number, .value(.integer(self.head))), Self.name(0),
                        PropertyAssignment(TableModel.group, .value(.integer(-1))),
                    ],
                    placements: []
                )
            ])
        }
        return try subject.time(steps, clock)
    }

    /// Returns a mutation at a random position in the middle half.
    private mutating func step(_ change: Change, _ key: SortedBy) -> Mutation {
        let number = Self.span / 4 + self.random.next() % (Self.span / 2)
        switch change {
        case .insert:
            return self.insert(number)
        case .update:
            let row = self.middle[Int(self.random.next() % UInt64(self.middle.count))]
            return .update(
                .object(row),
                values: [key == .integer ? Self.number(number) : Self.name(number)]
            )
        case .delete:
            self.middle.swapAt(Int(self.random.next() % UInt64(self.middle.count)), self.middle.count - 1)
            return .delete(.object(self.middle.removeLast()))
        }
    }

    /// Returns `count` random rows of the middle half.
    package mutating func some(_ count: Int) -> [ObjectID] {
        Array(self.middle.shuffled(using: &self.random).prefix(count))
    }

    private static func isMiddle(_ number: UInt64) -> Bool { (Self.span / 4..<Self.span / 4 * 3).contains(number) }

    private func insert(_ number: UInt64) -> Mutation {
        var values = [
            Self.number(number), Self.name(number), PropertyAssignment(TableModel.group, .value(.integer(-1))),
        ]
        if let list = self.list { values.append(PropertyAssignment(TableModel.ofList, .reference(.object(list)))) }
        return .insert(entity: TableModel.row, values: values, placements: [])
    }

    private static func number(_ number: UInt64) -> PropertyAssignment {
        PropertyAssignment(TableModel.number, .value(.integer(Int64(number))))
    }

    private static func name(_ number: UInt64) -> PropertyAssignment {
        PropertyAssignment(TableModel.name, .value(.string(Self.text(number))))
    }

    /// Returns the name derived from a number.
    package static func text(_ number: UInt64) -> String {
        // 26^12 / 2^48: names use all first letters.
        var rest = number * 339
        var letters: [UInt8] = []
        for _ in 0..<12 {
            letters.append(UInt8(ascii: "a") + UInt8(rest % 26))
            rest /= 26
        }
        return String(decoding: letters.reversed(), as: UTF8.self)
    }
}

/// A random number generator that returns the same numbers in every run.
private struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        self.state = seed
    }

    mutating func next() -> UInt64 {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
