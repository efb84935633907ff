import BenchEngine
import NestModel
import NestProtocol

/// An engine with a nested list, whose rows an outline shows. Connection 1 writes.
struct OutlineSide {
    enum Shape: String {
        /// Rows with ten children each.
        case list = "shown rows"
        /// Each row below the one before.
        case chain = "levels"
    }

    enum Change: String, CaseIterable {
        case insert
        case move
        case delete
    }

    let subject: EngineSubject
    private let shape: Shape
    private var rows: [ObjectID] = []
    /// Below these rows things change.
    private var owners: [ObjectID] = []
    private var inserted: [ObjectID] = []
    private var turn = 0

    init(_ shape: Shape, _ count: Int) throws {
        self.subject = try EngineSubject(.nestedList)
        self.shape = shape
        var last: ObjectID?
        while self.rows.count < count {
            let number = min(count - self.rows.count, 5_000)
            let mutations = (0..<number).map { index -> Mutation in
                switch shape {
                case .list:
                    let parent = index - index % 11
                    return index % 11 == 0 ? Load.insert(under: ObjectID(1)) : Load.insert(under: .inserted(parent + 1))
                case .chain:
                    if index > 0 { return Load.insert(under: .inserted(index)) }
                    return Load.insert(under: last ?? ObjectID(1))
                }
            }
            self.rows += try self.subject.write([mutations]).inserted
            last = self.rows.last
            Progress.show("\(count) \(shape.rawValue):", self.rows.count, of: count)
        }
        Progress.clear()
        switch shape {
        case .list:
            // In the middle: rows on both sides.
            let first = (count / 2) / 5_000 * 5_000
            self.owners = [self.rows[first], self.rows[first + 11]]
        case .chain:
            self.owners = [self.rows[count - 1], self.rows[count - 2]]
        }
    }

    /// The whole tree unfolded, in a window around an object that changes have around them.
    func subscribe(_ window: FetchWindow? = nil, on connection: UInt64) throws {
        try self.subject.subscribe(
            Self.request(window ?? .around(self.owners[0], before: 20, after: 20)),
            on: connection
        )
    }

    static func request(_ window: FetchWindow) -> ObjectFetchRequest {
        ObjectFetchRequest(
            entity: EntityNumber(1),
            source: FetchSource(object: ObjectID(1), relationship: PropertyNumber(6)),
            projection: [PropertyNumber(1), .outlineChildren, .outlineDepth],
            window: window,
            outline: FetchOutline(.all)
        )
    }

    /// Runs `commits` commits of each kind. Returns the microseconds of a commit for each.
    mutating func block(_ commits: Int, isSubscribed: Bool) throws -> [Double] {
        try Change.allCases.map { change in
            let steps = (0..<commits).map { [self.step(change, $0)] }
            let run = try self.subject.time(steps, Turns.threadTime)
            if change == .insert { self.inserted = run.inserted }
            precondition(!isSubscribed || run.pushCount == commits, "each commit is one diff")
            return run.time / Double(commits) * 1e6
        }
    }

    private mutating func step(_ change: Change, _ index: Int) -> Mutation {
        switch change {
        case .insert: Load.insert(under: self.owners[0], Load.title, .first)
        case .move:
            .move(
                .object(self.inserted[index]),
                Placement(relationship: PropertyNumber(5), owner: .object(self.owners[1]), place: .first)
            )
        case .delete: .delete(.object(self.inserted[index]))
        }
    }
}
