import NestHistory
import NestModel

/// A correct history of five transactions, written by hand.
enum SmallHistory {
    static let list = ObjectID(2)
    static let (ann, bob) = (ObjectID(3), ObjectID(4))
    static let store = Identifier128(high: 1, low: 2)
    static let query = WatchedQuery(.whole, of: list)

    static func make() -> History {
        var history = History()
        history.audit = self.audit
        history.writes = self.writes
        history.subscriptions = [self.subscription]
        history.followers = [self.follower]
        history.fetches = [
            Fetched(
                client: "reader",
                query: self.query,
                atLeast: Revision(3),
                state: self.state(4, [self.row(3, "Cara")])
            )
        ]
        return history
    }

    // MARK: The store

    static func part(_ revision: UInt64, _ name: String, _ objects: [ChangedObject]) -> ChangeSetPart {
        ChangeSetPart(
            revision: Revision(revision),
            time: 0,
            sessionNumber: 1,
            kind: .write,
            reverted: nil,
            name: name,
            objects: objects
        )
    }

    static func object(_ kind: ChangedObject.Kind, _ id: ObjectID, _ properties: [PropertyNumber] = []) -> ChangedObject
    {
        ChangedObject(kind: kind, entity: ListModel.entity, id: id, properties: properties)
    }

    static let audit = [
        Self.part(1, "list", [Self.object(.inserted, Self.list)]),
        Self.part(2, "both", [Self.object(.inserted, Self.ann), Self.object(.inserted, Self.bob)]),
        Self.part(3, "rename", [Self.object(.updated, Self.ann, [ListModel.title])]),
        Self.part(4, "delete", [Self.object(.deleted, Self.bob)]),
        Self.part(5, "mark", [Self.object(.updated, Self.ann, [ListModel.done])]),
    ]

    static func write(_ name: String, _ mutations: [Mutation], _ answers: Write.Answer...) -> Write {
        var write = Write(name: name, mutations: mutations)
        write.answers = answers
        return write
    }

    static func receipt(_ revision: UInt64, _ first: ObjectID? = nil, _ count: Int = 1, isReplayed: Bool = false)
        -> Write.Answer
    {
        .receipt(
            Receipt(
                revision: Revision(revision),
                isChanged: true,
                isReplayed: isReplayed,
                results: first.map { [.init(first: $0, count: count)] } ?? []
            )
        )
    }

    static var writes: [Write] {
        var rename = self.write(
            "rename",
            [ListModel.rename(self.ann, "Cara")],
            .unknown,
            self.receipt(3, isReplayed: true)
        )
        rename.observations = [ReceiptObservation(subscription: "s", receipt: Revision(3), arrived: Revision(3))]
        let both = [ListModel.insert("Ann", under: self.list), ListModel.insert("Bob", under: self.list)]
        return [
            self.write("list", [ListModel.insert("L", under: ListModel.root)], self.receipt(1, self.list)),
            self.write("both", both, self.receipt(2, self.ann, 2)),
            rename,
            self.write("delete", [.delete(.object(self.bob))], .unknown),
            self.write("mark", [ListModel.mark(self.ann, isDone: true)], self.receipt(5)),
            self.write("never", [ListModel.rename(self.bob, "Bo")], .refused(.notFound)),
            self.write("lost", [ListModel.rename(self.ann, "An")], .unknown),
        ]
    }

    // MARK: Subscriptions and followers

    static func row(_ id: Int64, _ title: String, isDone: Bool = false) -> Row {
        Row(id: ObjectID(id), values: [.string(title), .boolean(isDone), .reference(self.list)])
    }

    static func state(_ revision: UInt64, _ rows: [Row]) -> SectionedSnapshot {
        SectionedSnapshot(
            revision: Revision(revision),
            projection: self.query.projection,
            sections: [ResultsSection(key: .string(""), rows: rows)]
        )
    }

    static func diff(_ from: UInt64, _ to: UInt64, total: Int, _ change: (inout ResultsDiff) -> Void)
        -> SubscriptionRecord.Event
    {
        var diff = ResultsDiff(from: Revision(from), to: Revision(to), total: total, digest: 0)
        change(&diff)
        return .diff(diff)
    }

    static func inserting(_ rows: Row...) -> SubscriptionRecord.Event {
        self.diff(1, 2, total: rows.count) {
            $0.insertedRows = rows.enumerated().map { .init(path: RowPosition(0, $0), row: $1) }
        }
    }

    static let renaming = Self.diff(2, 3, total: 2) {
        $0.updates = [.init(path: RowPosition(0, 0), values: [(ListModel.title, .string("Cara"))])]
    }

    /// One diff from 3 to 5.
    static let last = Self.diff(3, 5, total: 1) {
        $0.deletedRows = [.init(path: RowPosition(0, 1), id: Self.bob, reason: .deleted)]
        $0.updates = [.init(path: RowPosition(0, 0), values: [(ListModel.done, .boolean(true))])]
    }

    static var subscription: SubscriptionRecord {
        var record = SubscriptionRecord(name: "s", query: self.query)
        record.isComplete = true
        record.events = [
            .snapshot(self.state(1, [])), self.inserting(self.row(3, "Ann"), self.row(4, "Bob")), self.renaming,
            .progress(Revision(3)), .disconnected, .resumed(Revision(3)), self.last, .progress(Revision(5)),
        ]
        return record
    }

    static var follower: FollowerRecord {
        var record = FollowerRecord(name: "f", since: ResumePoint(historyID: self.store, revision: Revision(1)))
        record.isComplete = true
        record.events = [
            .following(ResumePoint(historyID: self.store, revision: Revision(1))), .changes(self.audit[1]),
            .changes(self.audit[2]), .disconnected, .resumed(Revision(3)), .changes(self.audit[3]),
            .changes(self.audit[4]), .progress(Revision(5)),
        ]
        return record
    }
}
