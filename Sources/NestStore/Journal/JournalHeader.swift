import NestModel
import NestProtocol

/// The journal's record of one revision, without its change set. Undo stacks, idempotency keys and the history are made
/// of headers. A class, because it is large and passed on often.
package final class JournalHeader: Sendable {
    package let revision: Revision
    /// Microseconds since 1970-01-01 UTC.
    package let time: Int64
    package let sessionNumber: UInt64
    package let kind: HistoryEntry.Kind
    /// The revision that an undo or redo reverted.
    package let reverted: Revision?
    package let name: String
    package let key: Identifier128?
    /// FNV-1a of the request, to distinguish a retry from another request with the same key.
    package let requestHash: UInt64
    /// The inserted and found objects of the receipt.
    package let results: [Receipt.Run]
    /// The first transaction of the undo entry that this one is part of; `nil`: this one is the first.
    package let entry: Revision?
    /// The conflicts that an undo reported.
    package let conflicts: UndoConflicts
    /// The key for undo coalescing: the session's next write joins this one if it has the same key. `nil`: no write
    /// joins.
    package let coalescingKey: String?
    /// The number of revisions that answer the request, of which this is the last: an undo may become several. Stored
    /// in a cluster only, where another node may have to answer a retry.
    package let revisionCount: Int
    /// The token scope of the write. Headers from before format 5 have none, which means everything.
    package let scope: WriteScope
    /// The user of the session when it wrote; `nil`: none. Headers from before users have none.
    package let user: UserLabel?
    /// The number of blocks of a bulk change set.
    package let blockCount: Int
    /// The size of the change set inside the group's `changes`, in bytes.
    package let inlineBytes: Int

    package init(
        revision: Revision,
        time: Int64,
        sessionNumber: UInt64,
        kind: HistoryEntry.Kind,
        reverted: Revision?,
        name: String,
        key: Identifier128?,
        requestHash: UInt64,
        results: [Receipt.Run],
        entry: Revision? = nil,
        conflicts: UndoConflicts = UndoConflicts(),
        coalescingKey: String? = nil,
        revisionCount: Int = 1,
        scope: WriteScope = .everything,
        user: UserLabel? = nil,
        blockCount: Int = 0,
        inlineBytes: Int = 0
    ) {
        self.revision = revision
        self.time = time
        self.sessionNumber = sessionNumber
        self.kind = kind
        self.reverted = reverted
        self.name = name
        self.key = key
        self.requestHash = requestHash
        self.results = results
        self.entry = entry
        self.conflicts = conflicts
        self.coalescingKey = coalescingKey
        self.revisionCount = revisionCount
        self.scope = scope
        self.user = user
        self.blockCount = blockCount
        self.inlineBytes = inlineBytes
    }

    /// Returns a copy with an idempotency key, the conflicts of an undo, and the number of its revisions.
    func answering(_ key: Identifier128?, _ conflicts: UndoConflicts, revisionCount: Int) -> JournalHeader {
        self.copy(
            key: key,
            conflicts: conflicts,
            coalescingKey: self.coalescingKey,
            revisionCount: revisionCount
        )
    }

    /// Returns a copy with a coalescing key.
    func coalescing(by coalescingKey: String) -> JournalHeader {
        self.copy(key: self.key, conflicts: self.conflicts, coalescingKey: coalescingKey)
    }

    /// Returns a copy with a user.
    func written(by user: UserLabel?) -> JournalHeader {
        self.copy(key: self.key, conflicts: self.conflicts, coalescingKey: self.coalescingKey, user: user)
    }

    /// Returns a copy. `revisionCount`, `inlineBytes`, `user`: `nil` for the same.
    func copy(
        key: Identifier128?,
        conflicts: UndoConflicts,
        coalescingKey: String?,
        revisionCount: Int? = nil,
        inlineBytes: Int? = nil,
        user: UserLabel? = nil
    ) -> JournalHeader {
        JournalHeader(
            revision: self.revision,
            time: self.time,
            sessionNumber: self.sessionNumber,
            kind: self.kind,
            reverted: self.reverted,
            name: self.name,
            key: key,
            requestHash: self.requestHash,
            results: self.results,
            entry: self.entry,
            conflicts: conflicts,
            coalescingKey: coalescingKey,
            revisionCount: revisionCount ?? self.revisionCount,
            scope: self.scope,
            user: user ?? self.user,
            blockCount: self.blockCount,
            inlineBytes: inlineBytes ?? self.inlineBytes
        )
    }
}

/// The bits of a header's kind byte: the kind, and which optional fields follow. Most transactions have none of these
/// fields.
private enum HeaderFlags {
    static let kind: UInt8 = 0x0f
    static let entry: UInt8 = 0x10
    static let conflicts: UInt8 = 0x20
    static let revisionCount: UInt8 = 0x40
    static let scope: UInt8 = 0x80
}

extension ByteWriter {
    /// Writes the headers of one group. The coalescing keys and then the users follow all headers, where older builds
    /// do not read. A group without either ends behind its headers.
    mutating func write(headers: some Collection<JournalHeader>) {
        self.write(count: headers.count)
        var keys: [(index: Int, key: String)] = []
        var hasUsers = false
        var index = 0
        for header in headers {
            self.write(header: header)
            if let key = header.coalescingKey { keys.append((index, key)) }
            if header.user != nil { hasUsers = true }
            index += 1
        }
        guard !keys.isEmpty || hasUsers else { return }
        self.write(count: keys.count)
        for (index, key) in keys {
            self.write(count: index)
            self.write(string: key)
        }
        guard hasUsers else { return }
        for header in headers { self.write(user: header.user) }
    }

    mutating func write(header: JournalHeader) {
        let more =
            (header.entry == nil ? 0 : HeaderFlags.entry) | (header.conflicts.isEmpty ? 0 : HeaderFlags.conflicts)
            | (header.scope.limit == nil ? 0 : HeaderFlags.scope)
            | (header.revisionCount == 1 ? 0 : HeaderFlags.revisionCount)
        self.write(atMost: 4 * SmallBytes.varintMax + 1) { bytes in
            bytes.write(revision: header.revision)
            bytes.write(integer: header.time)
            bytes.write(varint: header.sessionNumber)
            bytes.write(byte: header.kind.rawValue | more)
            bytes.write(revision: header.reverted ?? Revision(0))
        }
        self.write(string: header.name)
        if header.key == nil, header.results.count == 1 {
            // Most headers: the same bytes as below, for which memory is reserved once.
            let run = header.results[0]
            self.write(atMost: 6 * SmallBytes.varintMax + 2) { bytes in
                bytes.write(byte: 0)
                bytes.write(integer: header.requestHash)
                bytes.write(count: 1)
                bytes.write(objectID: run.first)
                bytes.write(count: run.count)
                bytes.write(byte: run.isFound ? 1 : 0)
                bytes.write(count: header.blockCount)
                bytes.write(count: header.inlineBytes)
            }
        } else {
            self.write(key: header.key)
            self.write(integer: header.requestHash)
            self.write(runs: header.results)
            self.write(atMost: 2 * SmallBytes.varintMax) { bytes in
                bytes.write(count: header.blockCount)
                bytes.write(count: header.inlineBytes)
            }
        }
        if let entry = header.entry { self.write(revision: entry) }
        if !header.conflicts.isEmpty { self.write(undoConflicts: header.conflicts) }
        if header.scope.limit != nil { self.write(scope: header.scope) }
        if header.revisionCount != 1 { self.write(count: header.revisionCount) }
    }
}

extension ByteReader {
    mutating func headers() throws(DecodingFailure) -> [JournalHeader] {
        var headers: [JournalHeader] = []
        for _ in 0..<(try self.count("headers")) { headers.append(try self.header()) }
        // Older builds have no coalescing keys and write nothing here.
        guard !self.isAtEnd else { return headers }
        for _ in 0..<(try self.count("coalescing keys")) {
            let index = try self.index("coalescing header")
            guard index < headers.count else { throw DecodingFailure(.invalidValue, "coalescing header") }
            let key = try self.string("coalescing key", max: Limits.coalesceKeyBytesMax)
            headers[index] = headers[index].coalescing(by: key)
        }
        guard !self.isAtEnd else { return headers }
        for index in headers.indices {
            if let user = try self.user() { headers[index] = headers[index].written(by: user) }
        }
        return headers
    }

    mutating func header() throws(DecodingFailure) -> JournalHeader {
        let revision = try self.revision("revision")
        let time = try self.integer(Int64.self, "time")
        let session = try self.varint("session")
        let flags = try self.byte("kind")
        guard let kind = HistoryEntry.Kind(rawValue: flags & HeaderFlags.kind) else {
            throw DecodingFailure(.unsupported, "kind")
        }
        let reverted = try self.revision("reverted")
        let name = try self.string("name", max: Limits.nameBytesMax)
        let key = try self.key()
        let hash = try self.integer(UInt64.self, "request hash")
        let results = try self.runs()
        let blockCount = try self.index("blocks")
        let inlineBytes = try self.index("inline bytes")
        let entry = flags & HeaderFlags.entry == 0 ? nil : try self.revision("entry")
        let conflicts = flags & HeaderFlags.conflicts == 0 ? UndoConflicts() : try self.undoConflicts()
        let scope = flags & HeaderFlags.scope == 0 ? .everything : try self.writeScope()
        let revisionCount = flags & HeaderFlags.revisionCount == 0 ? 1 : try self.index("revisions")
        guard revisionCount > 0, revisionCount == 1 || UInt64(revisionCount) <= revision.rawValue else {
            throw DecodingFailure(.outOfRange, "revisions")
        }
        return JournalHeader(
            revision: revision,
            time: time,
            sessionNumber: session,
            kind: kind,
            reverted: reverted == Revision(0) ? nil : reverted,
            name: name,
            key: key,
            requestHash: hash,
            results: results,
            entry: entry,
            conflicts: conflicts,
            revisionCount: revisionCount,
            scope: scope,
            blockCount: blockCount,
            inlineBytes: inlineBytes
        )
    }
}
