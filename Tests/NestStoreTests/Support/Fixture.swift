import NestProtocol
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestSchema

/// A store of its own for a test, written through groups of one request.
final class Fixture {
    let directory: TemporaryDirectory
    private(set) var store: Store
    /// The time of the last request, in microseconds.
    private(set) var time: Int64 = 1
    private var configuration: Store.Configuration
    /// The other store of its cluster; `nil` for a single store.
    private(set) var replica: Replica?

    static let item = EntityNumber(1)
    static let title = PropertyNumber(1)
    static let parent = PropertyNumber(5)

    var path: String { self.directory.path + "/nest.sqlite" }

    /// `isReplicated`: the store leads a cluster of two. `tune`: changes limits, or the location of the store.
    init(
        _ model: ManagedObjectModel = .nestedList,
        inMemory: Bool = false,
        isReplicated: Bool = false,
        tune: (inout Store.Configuration) -> Void = { _ in }
    ) throws {
        self.directory = TemporaryDirectory(inMemory: inMemory)
        var configuration = Store.Configuration(location: .file(self.directory.path + "/nest.sqlite"), model: model)
        tune(&configuration)
        self.store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 2))
        if isReplicated {
            let replica = try Replica(of: self.store, configuration, self.directory.path)
            self.replica = replica
            configuration.log = replica.log
            self.store = try Store(configuration, newHistoryID: Identifier128(high: 5, low: 6))
            try replica.lead(self.store)
        }
        self.configuration = configuration
    }

    /// The follower leads from now on: it is `store`, and the former leader is the replica's store.
    func exchange() throws {
        guard let replica else { preconditionFailure("a cluster") }
        try replica.catchUp()
        let former = self.store
        self.configuration.location = .file(replica.store.path)
        self.store = replica.exchange(former)
        try replica.lead(self.store)
        try replica.catchUp()
    }

    func reopen() throws {
        try self.store.close()
        self.store = try Store(self.configuration, newHistoryID: Identifier128(high: 3, low: 4))
        try self.replica?.lead(self.store)
    }

    /// Runs several requests in one group.
    func inGroup(_ body: (WriteGroup) throws -> Void) throws {
        try self.store.access {
            self.time += 1
            let group = try self.store.beginGroup(time: self.time, alwaysSavepoint: false)
            do {
                try body(group)
                try group.commit()
            } catch {
                try group.rollback()
                throw error
            }
        }
    }

    static var description: WriteDescription {
        WriteDescription(name: "test", key: nil, requestHash: 0, sessionNumber: 1)
    }

    /// Runs one request in a group of its own; again with a savepoint when it fails after writing without one, as the
    /// engine does.
    @discardableResult
    func commit(inSavepoint: Bool = true, _ body: (ObjectGraph) throws -> Void) throws -> ChangeSet? {
        self.time += 1
        do {
            return try self.attempt(inSavepoint: inSavepoint, body)
        } catch StoreError.retryIndividually where !inSavepoint {
            return try self.attempt(inSavepoint: true, body)
        }
    }

    private func attempt(inSavepoint: Bool, _ body: (ObjectGraph) throws -> Void) throws -> ChangeSet? {
        try self.store.access {
            let group = try self.store.beginGroup(time: self.time, alwaysSavepoint: false)
            do {
                let result = try group.request(inSavepoint: inSavepoint) { graph in
                    try body(graph)
                    return Self.description
                }
                try group.commit()
                return result?.changes
            } catch {
                try group.rollback()
                throw error
            }
        }
    }

    @discardableResult
    func perform(_ mutations: Mutation...) throws -> [ObjectID] {
        var inserted: [ObjectID] = []
        try self.commit { inserted = try $0.perform(WriteTransaction(mutations: mutations)).flatMap(\.ids) }
        return inserted
    }

    static func insert(_ title: String, under parent: ObjectReference = .object(ObjectID(1)), _ place: Place = .last)
        -> Mutation
    {
        .insert(
            entity: Self.item,
            values: [PropertyAssignment(Self.title, .value(.string(title)))],
            placements: [Placement(relationship: Self.parent, owner: parent, place: place)]
        )
    }

    static func move(_ id: ObjectID, under parent: ObjectID, _ place: Place = .last) -> Mutation {
        .move(.object(id), Placement(relationship: Self.parent, owner: .object(parent), place: place))
    }

    @discardableResult
    func revert(
        _ revision: Revision,
        _ options: UndoOptions = UndoOptions(policy: .strict)
    ) throws -> ChangeSet? {
        let transaction = try self.store.access { try self.store.pastTransaction(revision) }
        let found = try #require(transaction)
        return try self.commit { try $0.revert(found, options, self.store.layout) }
    }

    func stage(_ rows: [(depth: Int, title: String)], under parent: ObjectID, _ place: Place = .last) throws
        -> StagedSubtree
    {
        var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: false)
        var chunks = try SpooledChunks(directory: self.directory.path)
        for row in rows {
            writer.append(SubtreeRow(depth: row.depth, id: nil, values: [.string(row.title)]))
            if writer.byteCount >= Limits.chunkBytes { try chunks.append(writer.take()) }
        }
        if writer.rowCount > 0 { try chunks.append(writer.take()) }
        return StagedSubtree(
            request: SubtreeImport(
                entity: Self.item,
                placement: Placement(relationship: Self.parent, owner: .object(parent), place: place),
                properties: [Self.title]
            ),
            chunks: chunks,
            rowCount: rows.count,
            checksum: 0
        )
    }

    func children(_ id: ObjectID) throws -> [ObjectID] {
        var ids: [ObjectID] = []
        let layout = try #require(self.store.layout[Self.item])
        try self.store.access { try self.store.forEach(layout.toMany[0], of: id) { id, _ in ids.append(id) } }
        return ids
    }

    /// Returns the whole sub-tree as `fetchSubtree` sends it.
    func export(_ root: ObjectID) throws -> [SubtreeRow] {
        let request = SubtreeRequest(root: root, relationship: PropertyNumber(6), properties: [Self.title])
        let export = try self.store.reader.exportSubtree(
            request,
            atLeast: self.store.head,
            isCompressed: false,
            deadline: .none
        )
        var reader = SubtreeChunkReader(valueCount: 1)
        var rows: [SubtreeRow] = []
        var offset = 0
        while let (chunk, next) = try export.chunks.chunk(at: offset) {
            offset = next
            rows += try reader.rows(of: PackedBytes.unpack(chunk, sizeMax: Limits.chunkUnpackedBytesMax))
        }
        #expect(rows.count == export.rowCount)
        return rows
    }
}

extension WriteGroup {
    /// A request whose body may throw anything.
    func request(inSavepoint: Bool, _ body: (ObjectGraph) throws -> WriteDescription) throws -> WriteResult? {
        try self.request(inSavepoint: inSavepoint, stepsMax: Limits.writeStepsMax) { (graph) throws(StoreError) in
            do {
                return try body(graph)
            } catch let error as StoreError {
                throw error
            } catch {
                Issue.record(error)
                throw .refused(.internalError, "\(error)")
            }
        }
    }
}

func expectRefusal(_ code: ErrorCode, _ body: () throws -> Void) {
    do {
        try body()
        Issue.record("not refused; expected \(code)")
    } catch {
        let refusal = (error as? StoreError)?.refusal ?? error as? NestError
        #expect(refusal?.code == code, "\(error)")
    }
}

extension ObjectGraph {
    /// Reverts one transaction alone.
    func revert(_ past: PastTransaction, _ options: UndoOptions, _ layout: ModelLayout) throws {
        let context = UndoContext(options)
        try self.revert(past, context)
        _ = try context.finish(layout) { _, _ in nil }
    }
}
