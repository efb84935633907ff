import NestCompression
import NestLiveQuery
import NestModel
import NestStore

/// Results that are followed: found, read, kept while they are of use.
extension Engine {
    /// The live result for a key, loaded from the store when there is none. Throws `ResultTooDear` if that would take too long
    /// between two commits.
    func result(_ key: ResultKey, now: Int64) throws -> ResultRegistry.Entry {
        if let entry = self.results[key] { return entry }
        try self.requireRoomForResult(now: now)
        self.admissionWork += try self.related.retain(key.source)
        do {
            let rows = try self.readInside(key.source)
            let result = LiveResult(source: key.source, sorted: rows, revision: self.store.head)
            let entry = self.results.insert(key, result, now: now)
            self.liveResultBytes += entry.byteCount
            return entry
        } catch {
            self.related.release(key.source)
            throw error
        }
    }

    /// Reads the rows of a result between two commits.
    private func readInside(_ source: ResultSource) throws -> ResultRows {
        let nanosecondsMax = self.limits.admissionWorkMax * 1_000
        do {
            let rows = try self.store.objects.resultRows(source, self.related, nanosecondsMax: nanosecondsMax)
            self.admissionWork += max(rows.candidateCount, rows.nanoseconds / 1_000)
            return rows
        } catch let error as ResultTooDear {
            self.admissionWork += self.limits.admissionWorkMax
            throw error
        }
    }

    /// Forgets a result that nobody uses.
    func removeResult(_ key: ResultKey) {
        // One that lags counts nothing along.
        if let entry = self.results[key], entry.isLagging, entry.loading == nil {
            self.related.releaseSubtrees(of: key.source)
        } else {
            self.related.release(key.source)
        }
        self.results.remove(key)
    }

    /// The whole of a view at the head, encoded once for all who ask at the same revision.
    func snapshot(_ view: View) throws -> (header: SnapshotHeader, rows: [SharedBytes]) {
        if let snapshot = view.snapshot, snapshot.header.revision == self.store.head { return snapshot }
        guard let entry = self.results[view.key.result] else { preconditionFailure("a view has a result") }
        let result = entry.result
        self.admissionWork += view.range.count
        let (sections, read) = try self.store.objects.encodedRows(
            result.source,
            result.tree,
            view.range,
            slots: view.slots,
            onBody: Self.boundedBytes(),
            columns: { result.member($0)?.columns ?? [] }
        )
        // The store and the live result were brought here by different ways: they must agree.
        precondition(
            read.count == view.range.count && read.digest == result.tree.digest(of: view.range),
            "a live result differs from the store at revision \(self.store.head)"
        )
        let position = result.tree.position(of: view.range, anchor: view.anchor?.id)
        let header = SnapshotHeader(position, sections, read, self.store.head)
        let snapshot = (header, read.bodies)
        view.snapshot = snapshot
        self.encoded.append(view)
        return snapshot
    }

    /// Ends the reading of rows, as bodies come, when they are more than can be made between two commits.
    static func boundedBytes() -> (SharedBytes) throws -> Void {
        var bytes = 0
        return { body in
            bytes += body.bytes.count
            if bytes > Self.insideBytesMax { throw SnapshotTooLarge() }
        }
    }

    /// Bytes of an answer that is made between two commits.
    private static let insideBytesMax = 2 * Limits.chunkBytes

    static func notARow(_ id: ObjectID) -> NestError {
        NestError(.notFound, "the object \(id) is no row of the result: there is no window around it", object: id)
    }

    /// One fetch, by the live result when there is one; a large one is read beside the engine.
    func fetch(
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ request: FetchRequest,
        atLeast: Revision,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        try self.requireRevision(atLeast)
        guard let connection = self.connections[id] else { return }
        let resolved = try self.resolve(request, connection.scope, mayBeGone: false)
        let source = resolved.source
        let key = ResultKey(source: source, scope: connection.scope)
        let live = self.results[key].flatMap { $0.isCurrent ? $0.result : nil }
        func aside() throws {
            let key = ViewKey(result: key, projection: resolved.projection, window: resolved.window)
            try self.readAside(key, resolved.slots, id, requestID, .fetch, now: now, &effects)
        }
        if try live == nil && self.isLarge(source) { return try aside() }
        let state: LiveState
        if let live {
            state = live.state
        } else {
            self.admissionWork += try self.related.retain(source)
            defer { self.related.release(source) }
            do {
                state = LiveState(source, try self.readInside(source))
            } catch is ResultTooDear {
                return try aside()
            }
        }
        guard
            let answer = try FetchAnswer(
                resolved,
                state,
                self.store.objects,
                self.store.head,
                rowsMax: self.limits.asideRowsMin
            )
        else { return try aside() }
        self.admissionWork += answer.rowCount
        self.reply(id, requestID, answer.reply, &effects)
    }

    /// The key of the row that a window is around. O(n).
    static func anchor(_ window: FetchWindow?, _ tree: OrderStatisticTree) throws -> RowKey? {
        guard case .around(let id, _, _) = window else { return nil }
        var found: RowKey?
        tree.forEach { if $0.id == id { found = $0 } }
        guard let found else { throw Self.notARow(id) }
        return found
    }
}

/// The rows of a view have too many bytes to be encoded between two commits.
struct SnapshotTooLarge: Error {}
