import NestModel

/// The rows that a workload has written, and the steps that change them at random places.
///
/// Numbers are spread evenly over 0..<2^48. A name has twelve letters, and names are in the order of the numbers that they
/// were made of, so that both orders are the same.
package struct Table {
    package enum Change: String, CaseIterable, Sendable {
        case update
        case insert
        case delete
    }

    /// Rows in the middle half of the order: those that are updated and deleted.
    private var middle: [ObjectID] = []
    private var random = SplitMix64(seed: 1)
    private let list: ObjectID?
    /// The number of the first row of all.
    private var head: Int64 = 0

    /// `list`: that the rows are in.
    package init(list: ObjectID? = nil) {
        self.list = list
    }

    private static let span: UInt64 = 1 << 48

    /// Writes so many rows anywhere, in batches that are one change each to subscribers.
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

    /// Makes the steps, runs each in a commit of its own, and notes what came of them.
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

    /// Inserts rows before all others, each in a commit of its own.
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

    /// One change in the middle half.
    private mutating func step(_ change: Change, _ key: SortedBy) -> Mutation {
        let place = Self.span / 4 + self.random.next() % (Self.span / 2)
        switch change {
        case .insert:
            return self.insert(place)
        case .update:
            let row = self.middle[Int(self.random.next() % UInt64(self.middle.count))]
            return .update(
                .object(row),
                values: [key == .integer ? Self.number(place) : Self.name(place)]
            )
        case .delete:
            self.middle.swapAt(Int(self.random.next() % UInt64(self.middle.count)), self.middle.count - 1)
            return .delete(.object(self.middle.removeLast()))
        }
    }

    /// So many rows of the middle half.
    package mutating func some(_ count: Int) -> [ObjectID] {
        Array(self.middle.shuffled(using: &self.random).prefix(count))
    }

    private static func isMiddle(_ place: UInt64) -> Bool { (Self.span / 4..<Self.span / 4 * 3).contains(place) }

    private func insert(_ place: UInt64) -> Mutation {
        var values = [
            Self.number(place), Self.name(place), PropertyAssignment(TableModel.group, .value(.integer(-1))),
        ]
        if let list = self.list { values.append(PropertyAssignment(TableModel.ofList, .reference(.object(list)))) }
        return .insert(entity: TableModel.row, values: values, placements: [])
    }

    private static func number(_ place: UInt64) -> PropertyAssignment {
        PropertyAssignment(TableModel.number, .value(.integer(Int64(place))))
    }

    private static func name(_ place: UInt64) -> PropertyAssignment {
        PropertyAssignment(TableModel.name, .value(.string(Self.text(place))))
    }

    /// The name made of a number.
    package static func text(_ place: UInt64) -> String {
        // 26^12 / 2^48, so that the first letters differ too.
        var rest = place * 339
        var letters: [UInt8] = []
        for _ in 0..<12 {
            letters.append(UInt8(ascii: "a") + UInt8(rest % 26))
            rest /= 26
        }
        return String(decoding: letters.reversed(), as: UTF8.self)
    }
}

/// The same numbers in every run.
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
