import NestModel
import NestProtocol
import NestSchema

/// The journal blocks of a write that is being prepared. They are stored under a revision that no write has, until the
/// write becomes part of a request.
struct PreparedBlocks {
    static let revision = Revision(UInt64(Int64.max))

    private let journal: Journal
    private let layout: ModelLayout
    private var block = ByteWriter()
    private(set) var count = 0
    /// The size of the blocks as they are stored, in bytes.
    private(set) var byteCount = 0
    private(set) var insertedCount = 0
    /// The deleted objects, by entity.
    private(set) var deletedCounts: [EntityNumber: Int] = [:]
    private(set) var entities: Set<EntityNumber> = []
    private var lastEntity: EntityNumber?

    init(_ journal: Journal) {
        self.journal = journal
        self.layout = journal.layout
    }

    mutating func append(_ object: ChangedRow) throws(StoreError) {
        guard let entity = self.layout[object.entity],
            let kind = self.block.write(change: object, layout: entity)
        else { return }
        try self.note(kind, object.entity)
    }

    /// Appends an inserted object, which `write` writes in the form of changes.
    mutating func append(insertOf entity: EntityNumber, _ write: (inout ByteWriter) -> Void) throws(StoreError) {
        write(&self.block)
        try self.note(.insert, entity)
    }

    private mutating func note(_ kind: ObjectChange.Kind, _ entity: EntityNumber) throws(StoreError) {
        if self.lastEntity != entity {
            self.lastEntity = entity
            self.entities.insert(entity)
        }
        if kind == .insert {
            self.insertedCount += 1
        } else {
            self.deletedCounts[entity, default: 0] += 1
        }
        if self.block.count >= Limits.journalBlockBytes { try self.flush() }
    }

    /// Writes what is left. The last call before the blocks get their revision.
    mutating func flush() throws(StoreError) {
        guard self.block.count > 0 else { return }
        self.byteCount += try self.journal.appendBlock(Self.revision, self.count, self.block.bytes)
        self.count += 1
        self.block.bytes.removeAll(keepingCapacity: true)
    }

    /// Gives the blocks the revision of the write, in the open transaction.
    func become(_ revision: Revision) throws(StoreError) {
        let statement = try self.journal.connection.statement(
            "UPDATE nest_journal_block SET revision = ?2 WHERE revision = ?1"
        )
        statement.bind(1, Int64(Self.revision.rawValue))
        statement.bind(2, Int64(revision.rawValue))
        try statement.run()
    }

    /// Removes some of the blocks of a write that was given up. Returns whether none are left.
    static func removeSome(_ connection: Connection) throws(StoreError) -> Bool {
        let statement = try connection.statement(
            """
            DELETE FROM nest_journal_block WHERE revision = ?1 AND number IN
            (SELECT number FROM nest_journal_block WHERE revision = ?1 ORDER BY number DESC LIMIT 16)
            """
        )
        statement.bind(1, Int64(Self.revision.rawValue))
        try statement.run()
        return connection.changedRowCount == 0
    }

    static func removeAll(_ connection: Connection) throws(StoreError) {
        let statement = try connection.statement("DELETE FROM nest_journal_block WHERE revision = ?1")
        statement.bind(1, Int64(Self.revision.rawValue))
        try statement.run()
    }
}
