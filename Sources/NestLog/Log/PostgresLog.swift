import NIOConcurrencyHelpers
import NestModel
import NestProtocol
import NestStore

/// The log of one store in PostgreSQL, as one node uses it. Any thread may call any function: they take turns for each
/// statement, so that none waits for a long one.
///
/// Three sessions: one appends and claims, one for snapshots, one for the rest. A fourth lasts while a doubt is set.
package final class PostgresLog: ClusterLog {
    /// Where the log is, and which node uses it.
    package struct Settings: Sendable {
        /// postgres://USER@HOST:PORT,HOST:PORT/DATABASE, or another connection string of libpq.
        package var url: String
        package var node: String
        /// HOST:PORT at which clients and other nodes reach this node.
        package var address: String
        /// Of nestd.
        package var version: String
        package var storeName: String

        package init(url: String, node: String, address: String, version: String, storeName: String = "default") {
            self.url = url
            self.node = node
            self.address = address
            self.version = version
            self.storeName = storeName
        }

        func parsedAddress() throws(LogFailure) -> PostgresAddress {
            for (what, text) in [("name of a node", self.node), ("address of a node", self.address)]
            where text.utf8.count > Limits.nodeAddressBytesMax || text.utf8.contains(0) {
                throw .unusable("the \(what) has at most \(Limits.nodeAddressBytesMax) bytes: '\(text.prefix(80))'")
            }
            return try PostgresAddress(self.url, applicationName: "nestd \(self.node)")
        }
    }

    package let node: LogNode
    package let store: Int64
    let session: PostgresSession
    let snapshotSession: PostgresSession
    private let doubts: DoubtSession
    private let address: PostgresAddress
    package let secret: TokenSecret
    private let appends: NIOLockedValueBox<Appends>
    let recordCount = NIOLockedValueBox(RecordCount(after: 0))

    private struct Appends: Sendable {
        var log: PostgresSharedLog
        /// The leader whose session had ended when `overview` was read.
        var goneLeader: Identifier128?
    }

    /// Throws if the address cannot be one of PostgreSQL. Does not connect.
    package static func check(url: String) throws(LogFailure) {
        _ = try PostgresAddress(url, applicationName: "nestd")
    }

    /// Connects and looks the store up. Throws `unusable` if this database has no log, one of another version, or not
    /// this store.
    package init(_ settings: Settings) throws(LogFailure) {
        self.address = try settings.parsedAddress()
        self.session = PostgresSession(self.address)
        self.snapshotSession = PostgresSession(self.address)
        self.doubts = DoubtSession(self.address)
        self.store = try LogCatalog(self.session).store(named: settings.storeName)
        var generator = SystemRandomNumberGenerator()
        let id = Identifier128.random(using: &generator)
        self.node = LogNode(id: id, name: settings.node, address: settings.address, version: settings.version)
        self.secret = .random(using: &generator)
        let log = PostgresSharedLog(self.address, store: self.store, node: id, onResolved: { _, _ in })
        self.appends = NIOLockedValueBox(Appends(log: log))
    }

    deinit { self.close() }

    /// Makes the log that the engine appends to, in place of the one before, which is closed. `onResolved`: called on
    /// another thread, once after each `unknown`, with the record's place and its fate.
    package func sharedLog(onResolved: @escaping @Sendable (LogPosition, AppendOutcome) -> Void) -> any SharedLog {
        let log = PostgresSharedLog(self.address, store: self.store, node: self.node.id, onResolved: onResolved)
        let old = self.appends.withLockedValue { appends in
            let old = appends.log
            appends.log = log
            return old
        }
        old.close()
        return log
    }

    /// Ends all sessions. A record whose fate is open is not reported any more.
    package func close() {
        self.appends.withLockedValue { $0.log }.close()
        self.session.close()
        self.snapshotSession.close()
        self.doubts.close()
    }

    /// Reads rows: one that is not as its table declares is damage of the log.
    static func read<Value>(_ body: () throws(PostgresFailure) -> Value) throws(LogFailure) -> Value {
        do throws(PostgresFailure) {
            return try body()
        } catch {
            throw error.logFailure
        }
    }

    // MARK: Leases

    package func renewLease() throws(LogFailure) {
        self.appends.withLockedValue { $0.log }.keepConnected()
        let renewed = try self.session.perform(Self.renew, [.uuid(self.node.id), .int(Int32(Limits.leaseSeconds))])
        guard renewed.affected == 0 else { return }
        try self.session.perform(
            Self.register,
            [
                .uuid(self.node.id), .text(self.node.name), .text(self.node.address), .secret(self.secret),
                .text(self.node.version), .int(Int32(Limits.leaseSeconds)),
            ]
        )
    }

    package func claim(isSessionGone: Bool) throws(LogFailure) -> Int64? {
        // Without a lease the next claim of another node would succeed at once.
        try self.renewLease()
        let (log, gone) = self.appends.withLockedValue { ($0.log, isSessionGone ? $0.goneLeader : nil) }
        return try log.claim(gone.map { .from($0) } ?? .free)
    }

    /// Claims the lead whether or not another node leads: that node's next append is refused.
    package func seize() throws(LogFailure) -> Int64 {
        try self.renewLease()
        guard let epoch = try self.appends.withLockedValue({ $0.log }).claim(.any) else {
            throw .unusable("the store was removed from the log")
        }
        return epoch
    }

    package func release() throws(LogFailure) {
        try self.session.perform(Self.release, [.long(self.store), .uuid(self.node.id)])
    }

    package func release(to node: Identifier128) throws(LogFailure) -> Bool {
        let values: [PostgresValue] = [.long(self.store), .uuid(self.node.id), .uuid(node)]
        return try self.session.perform(Self.releaseTo, values).affected > 0
    }

    package func withdraw(_ node: Identifier128, epoch: Int64) throws(LogFailure) {
        try self.session.perform(Self.withdraw, [.long(self.store), .uuid(node), .long(epoch)])
    }

    package func deregister() throws(LogFailure) {
        try self.release()
        try self.session.perform(Self.deregister, [.uuid(self.node.id)])
    }

    package func server() throws(LogFailure) -> LogServer {
        let row = try self.session.perform(Self.server, []).rows.first
        return try Self.read { () throws(PostgresFailure) in
            guard let row else { throw .damaged("a SELECT without a row") }
            return LogServer(timeline: UInt32(clamping: try row.long(0)), isReplicated: try row.bool(1))
        }
    }

    // MARK: The state

    package func overview(position: Int64) throws(LogFailure) -> LogOverview {
        let values: [PostgresValue] = [.long(self.store), .long(position), .uuid(self.node.id)]
        let row = try self.session.perform(Self.overview, values).rows.first
        guard let row else { throw .unusable("the store was removed from the log") }
        let overview = try Self.read { () throws(PostgresFailure) in
            guard !row.isNull(3), let chain = Chain(bytes: try row.bytes(4)) else {
                throw .damaged("the newest record of the store is not in the log")
            }
            let leader = row.isNull(6) ? nil : try Self.node(row, from: 6)
            return LogOverview(
                head: LogPosition(position: try row.long(3), chain: chain),
                base: try row.long(0),
                epoch: try row.long(1),
                leader: leader,
                isLeaderSessionGone: try row.bool(12),
                doubt: try row.bool(2),
                chainAtPosition: row.isNull(5) ? nil : Chain(bytes: try row.bytes(5))
            )
        }
        self.appends.withLockedValue { $0.goneLeader = overview.isLeaderSessionGone ? overview.leader?.id : nil }
        return overview
    }

    package func setDoubt(_ doubt: Bool) throws(LogFailure) {
        try self.doubts.set(doubt, of: self.store)
    }

    /// The note of a drained node is negative, so that the table needs no other column: -1 for the position 0.
    package func note(position: Int64, isDrained: Bool) throws(LogFailure) {
        let note = isDrained ? ~position : position
        try self.session.perform(Self.note, [.long(self.store), .uuid(self.node.id), .long(note)])
    }

    package func nodes() throws(LogFailure) -> [LogNode] {
        let rows = try self.session.perform(Self.nodes, [.long(self.store)]).rows
        return try Self.read { () throws(PostgresFailure) in
            var nodes: [LogNode] = []
            for row in rows { nodes.append(try Self.node(row, from: 0)) }
            return nodes
        }
    }

    package func secret(of node: Identifier128) throws(LogFailure) -> TokenSecret? {
        let row = try self.session.perform(Self.secret, [.uuid(node)]).rows.first
        return try Self.read { () throws(PostgresFailure) in try row?.secret(0) }
    }

    /// A node in six columns: id, name, address, version, whether it is alive, position.
    private static func node(_ row: PostgresRow, from column: Int) throws(PostgresFailure) -> LogNode {
        // A leader that is no longer registered has an id only.
        func text(_ offset: Int) throws(PostgresFailure) -> String {
            row.isNull(column + offset) ? "" : try row.text(column + offset)
        }
        let note = row.isNull(column + 5) ? nil : try row.long(column + 5)
        let isDrained = note.map { $0 < 0 } ?? false
        return LogNode(
            id: try row.uuid(column),
            name: try text(1),
            address: try text(2),
            version: try text(3),
            isAlive: row.isNull(column + 4) ? false : try row.bool(column + 4),
            position: note.map { isDrained ? ~$0 : $0 },
            isDrained: isDrained
        )
    }

    // MARK: Verifying

    package func add(_ verification: LogVerification) throws(LogFailure) {
        try self.session.perform(Self.forgetVerifications, [.long(self.store)])
        try self.session.perform(
            Self.addVerification,
            [
                .long(self.store), .long(verification.position), .uuid(verification.node), .uuid(verification.digest),
            ]
        )
    }

    package func verifications(at position: Int64) throws(LogFailure) -> [LogVerification] {
        let rows = try self.session.perform(Self.verifications, [.long(self.store), .long(position)]).rows
        return try Self.read { () throws(PostgresFailure) in
            var found: [LogVerification] = []
            for row in rows {
                found.append(
                    LogVerification(node: try row.uuid(0), position: position, digest: try row.uuid(1))
                )
            }
            return found
        }
    }

    // MARK: Status

    package func summary() throws(LogFailure) -> String {
        let server = try self.session.server()
        let row = try self.session.perform(Self.summary, [.long(self.store)]).rows.first
        return try Self.read { () throws(PostgresFailure) in
            guard let row else { throw .damaged("a SELECT without a row") }
            let (isReplicated, standbys) = (try row.bool(1), try row.long(2))
            let standby =
                switch (isReplicated, standbys) {
                case (false, _): "no synchronous standby"
                case (true, 0): "synchronous standby not seen"
                case (true, 1): "1 synchronous standby"
                case (true, _): "\(standbys) synchronous standbys"
                }
            var parts = ["PostgreSQL \(server.version) at \(server.place) (timeline \(try row.long(0)))", standby]
            if !row.isNull(4) { parts.append("\(try row.long(3)) records since \(try row.text(4))") }
            parts.append(row.isNull(5) ? "no snapshot" : "snapshot of \(try row.text(5))")
            return parts.joined(separator: ", ")
        }
    }
}
