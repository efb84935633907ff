import NestModel
import NestSchema
import NestTestSupport

@testable import NestStore

/// The follower of a cluster of two stores, and their log.
final class Replica {
    let log: MemoryLog
    private(set) var store: Store
    private let configuration: Store.Configuration
    private var epoch: Int64 = 0
    /// Selects a text of all rows of all tables: much faster than a hash in a build for debugging.
    private let everything: String

    /// Makes an ordinary store the first state of a log, lays its snapshot down as a second store, and closes it.
    init(of first: Store, _ configuration: Store.Configuration, _ directory: String) throws {
        let node = Identifier128(high: 7, low: 0)
        let server = LogServer(timeline: 1, isReplicated: true)
        let (record, position) = try first.enterCluster(
            store: 1,
            writer: LogRecord.Writer(node: node, epoch: 0),
            server: server,
            now: 0
        )
        self.log = MemoryLog(LogEntry(position: position, bytes: record.bytes))
        var configuration = configuration
        configuration.location = .file(directory + "/replica.sqlite")
        configuration.log = self.log
        self.configuration = configuration
        try Self.layDown(try first.reader.snapshot(bytesLeftMin: 0), at: directory + "/replica.sqlite")
        try first.close()
        self.store = try Store(configuration, newHistoryID: Identifier128(high: 8, low: 8))
        self.everything = try Self.everything(self.store)
    }

    private static func everything(_ store: Store) throws -> String {
        let texts = try store.tableColumns().map { table, columns in
            let row = columns.joined(separator: "||','||")
            return "ifnull((SELECT group_concat(\(row), ';') FROM (SELECT * FROM \(table) ORDER BY 1, 2)), '')"
        }
        return "SELECT " + texts.joined(separator: "||'|'||")
    }

    /// Whether all tables of both stores have the same rows.
    func isEqual(to leader: Store) throws -> Bool {
        var texts: [String] = []
        for store in [self.store, leader] {
            try store.forEachRow(self.everything) {
                texts.append($0.text(0))
                return true
            }
        }
        return texts[0] == texts[1] && self.store.remembered == leader.remembered
    }

    deinit {
        try? self.store.close()
    }

    static func layDown(_ snapshot: StoreSnapshot, at path: String) throws {
        let download = try SnapshotDownload(snapshot.description, at: path)
        for index in 0..<snapshot.description.partCount { try download.add(try snapshot.part(index)) }
        try download.publish(store: 1)
    }

    /// Makes a store lead in the next epoch.
    @discardableResult
    func lead(_ store: Store, server: LogServer? = nil, historyID: Identifier128? = nil) throws -> AppliedRecord {
        self.epoch += 1
        return try store.lead(
            as: LogRecord.Writer(node: Identifier128(high: 7, low: UInt64(self.epoch)), epoch: self.epoch),
            server: server ?? LogServer(timeline: 1, isReplicated: true),
            historyID: historyID ?? store.historyID,
            now: self.epoch
        )
    }

    /// Applies what the log has behind the follower.
    @discardableResult
    func catchUp() throws -> [AppliedRecord] {
        try self.log.entries(after: self.store.logState?.position.position ?? 0).map {
            try self.store.apply($0, isConcerned: { _ in true })
        }
    }

    /// Returns the follower; `former` follows from now on.
    func exchange(_ former: Store) -> Store {
        let follower = self.store
        former.follow()
        self.store = former
        return follower
    }
}

extension Store {
    /// The hash of all tables, on the store's own connection.
    func tableHash() throws -> Identifier128 {
        try self.access { try TableHash(self.connection).compute() }
    }

    /// What the memory of a store keeps beside its tables.
    var remembered: [Int64] {
        [
            Int64(self.head.rawValue), Int64(self.oldestBase.rawValue), self.nextObjectID, self.journalBytes,
            self.logState?.position.position ?? -1,
        ]
    }

    /// The tables, each with the texts of its columns, quoted. Each node has its own times at which tokens were used.
    func tableColumns() throws -> [(table: String, columns: [String])] {
        var tables: [(table: String, columns: [String])] = []
        let sql = """
            SELECT tables.name, columns.name
            FROM sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS columns
            WHERE tables.type = 'table' AND columns.name <> 'last_used' ORDER BY 1, columns.cid
            """
        try self.forEachRow(sql) { row in
            let table = EntitySQL.quoted(row.text(0))
            if tables.last?.table != table { tables.append((table, [])) }
            tables[tables.count - 1].columns.append("quote(\(EntitySQL.quoted(row.text(1))))")
            return true
        }
        return tables
    }

    /// The tables in which two stores differ, with their first different row, for messages.
    func differences(from other: Store) throws -> [String] {
        try self.tableColumns().compactMap { table, columns in
            let sql = "SELECT \(columns.joined(separator: "||','||")) FROM \(table) ORDER BY 1"
            let (own, others) = (try self.texts(sql), try other.texts(sql))
            guard own != others else { return nil }
            let index = zip(own, others).enumerated().first { $0.element.0 != $0.element.1 }?.offset
            let at = index ?? min(own.count, others.count)
            let row = { (rows: [String]) in at < rows.count ? rows[at] : "no row" }
            return "\(table): \(row(own)), not \(row(others))"
        }
    }

    private func texts(_ sql: String) throws -> [String] {
        var texts: [String] = []
        try self.forEachRow(sql) {
            texts.append($0.text(0))
            return true
        }
        return texts
    }
}

extension ChangeSet {
    /// Returns the first difference from a change set of another store of the cluster; `nil`: they say the same.
    func difference(from other: ChangeSet, _ store: Store, _ otherStore: Store) throws -> String? {
        var others: [ObjectID: ChangedRow] = [:]
        try otherStore.access { try otherStore.forEachChangedObject(other) { others[$0.id] = $0 } }
        var difference: String?
        try store.access {
            try store.forEachChangedObject(self) { object in
                let same = others.removeValue(forKey: object.id)
                guard let same, same.entity == object.entity, same.before == object.before, same.after == object.after
                else { return difference = "\(object), not \(same as Any)" }
            }
        }
        if let missing = others.first { difference = "nothing, not \(missing.value)" }
        if self.repositions != other.repositions { difference = "\(self.repositions), not \(other.repositions)" }
        guard self.counts == other.counts else { return "\(self.counts), not \(other.counts)" }
        return difference
    }

    private var counts: [Int] {
        [Int(self.revision.rawValue), self.insertedCount, self.updatedCount, self.deletedCount]
    }
}
