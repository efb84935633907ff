import NestModel

/// The object ids that sessions have reserved and that no object has had yet: those of the sessions that a transaction
/// asks for. A copy is the state before a request, to go back to.
///
/// The store has a row for each piece. A session's pieces are read when it is asked for, and written back with the
/// transaction if they have changed.
struct ReservedIDs {
    /// Ascending and apart: pieces that meet are one.
    typealias Pieces = [ClosedRange<Int64>]

    private var pieces: [UInt64: Pieces] = [:]
    private var stored: [UInt64: Pieces] = [:]

    /// Adds ids to those of a session, above all of them. The session loses its oldest ones if it has too many: a
    /// client whose answers were lost does not know them.
    mutating func add(_ ids: ClosedRange<Int64>, of session: UInt64, _ connection: Connection) throws(StoreError) {
        var pieces = try self.take(session, connection)
        if let last = pieces.last, last.upperBound + 1 == ids.lowerBound {
            pieces[pieces.count - 1] = last.lowerBound...ids.upperBound
        } else {
            pieces.append(ids)
        }
        Self.dropOldest(&pieces)
        self.pieces[session] = pieces
    }

    private static func dropOldest(_ pieces: inout Pieces) {
        pieces.removeFirst(max(0, pieces.count - Limits.reservedPiecesPerSessionMax))
        var surplus = pieces.reduce(0) { $0 + $1.count } - Limits.reservedIDsPerSessionMax
        while surplus > 0, let first = pieces.first {
            let dropped = min(surplus, first.count)
            surplus -= dropped
            if dropped == first.count {
                pieces.removeFirst()
            } else {
                pieces[0] = (first.lowerBound + Int64(dropped))...first.upperBound
            }
        }
    }

    /// Takes an id from those of a session. Returns `false` if it is not one of them.
    mutating func use(_ id: ObjectID, of session: UInt64, _ connection: Connection) throws(StoreError) -> Bool {
        var pieces = try self.take(session, connection)
        defer { self.pieces[session] = pieces }
        let id = id.rawValue
        guard let index = Self.index(of: id, in: pieces) else { return false }
        let piece = pieces[index]
        switch (id == piece.lowerBound, id == piece.upperBound) {
        case (true, true): pieces.remove(at: index)
        case (true, false): pieces[index] = (id + 1)...piece.upperBound
        case (false, true): pieces[index] = piece.lowerBound...(id - 1)
        case (false, false):
            pieces[index] = (id + 1)...piece.upperBound
            pieces.insert(piece.lowerBound...(id - 1), at: index)
            Self.dropOldest(&pieces)
        }
        return true
    }

    /// Binary search.
    private static func index(of id: Int64, in pieces: Pieces) -> Int? {
        var (low, high) = (0, pieces.count)
        while low < high {
            let middle = (low + high) / 2
            if pieces[middle].upperBound < id { low = middle + 1 } else { high = middle }
        }
        return low < pieces.count && pieces[low].lowerBound <= id ? low : nil
    }

    // MARK: Rows

    /// Takes the pieces of a session out, so that a change does not copy them.
    private mutating func take(_ session: UInt64, _ connection: Connection) throws(StoreError) -> Pieces {
        if let known = self.pieces.removeValue(forKey: session) { return known }
        let statement = try connection.statement(
            "SELECT first, last FROM nest_reserved WHERE session = ?1 ORDER BY first"
        )
        defer { statement.reset() }
        statement.bind(1, Int64(session))
        var pieces: Pieces = []
        while try statement.step() {
            let (first, last) = (statement.integer(0), statement.integer(1))
            guard first > (pieces.last?.upperBound ?? 0), last >= first else {
                throw .corrupt(path: connection.path, reason: "the reserved ids of a session are damaged")
            }
            pieces.append(first...last)
        }
        self.stored[session] = pieces
        return pieces
    }

    /// Replaces the ids of a session by those that it has left.
    mutating func set(_ pieces: Pieces, of session: UInt64, _ connection: Connection) throws(StoreError) {
        _ = try self.take(session, connection)
        self.pieces[session] = pieces
    }

    /// Writes what has changed, in the open transaction. Returns it, by session.
    mutating func write(_ connection: Connection) throws(StoreError) -> [(session: UInt64, Pieces)] {
        guard !self.pieces.isEmpty else { return [] }
        var changed: [(session: UInt64, Pieces)] = []
        for (session, pieces) in self.pieces.sorted(by: { $0.key < $1.key }) where pieces != self.stored[session] {
            changed.append((session, pieces))
            let (old, new) = (Set(self.stored[session] ?? []), Set(pieces))
            for piece in old.subtracting(new) {
                let statement = try connection.statement("DELETE FROM nest_reserved WHERE session = ?1 AND first = ?2")
                statement.bind(1, Int64(session))
                statement.bind(2, piece.lowerBound)
                try statement.run()
            }
            for piece in new.subtracting(old) {
                let statement = try connection.statement(
                    "INSERT INTO nest_reserved (session, first, last) VALUES (?1, ?2, ?3)"
                )
                statement.bind(1, Int64(session))
                statement.bind(2, piece.lowerBound)
                statement.bind(3, piece.upperBound)
                try statement.run()
            }
            self.stored[session] = pieces
        }
        return changed
    }

    static func hasTable(_ connection: Connection) throws(StoreError) -> Bool {
        let statement = try connection.statement("SELECT 1 FROM sqlite_schema WHERE name = 'nest_reserved'")
        defer { statement.reset() }
        return try statement.step()
    }

    static func forget(_ session: UInt64, _ connection: Connection) throws(StoreError) {
        let statement = try connection.statement("DELETE FROM nest_reserved WHERE session = ?1")
        statement.bind(1, Int64(session))
        try statement.run()
    }

    static func areThere(_ connection: Connection) throws(StoreError) -> Bool {
        let statement = try connection.statement("SELECT 1 FROM nest_reserved LIMIT 1")
        defer { statement.reset() }
        return try statement.step()
    }

    // MARK: The next id

    /// The key of the id after the last one that any session has ever reserved: no other object gets a smaller one,
    /// also when the session is forgotten.
    private static let nextKey = "next_unreserved_id"

    /// Returns the id after the last one that was ever reserved; 0 if none was.
    static func next(_ connection: Connection) throws(StoreError) -> Int64 {
        guard let bytes = try Store.meta(connection, self.nextKey) else { return 0 }
        do {
            return try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in
                try reader.integer(Int64.self, "next id")
            }
        } catch {
            throw .corrupt(path: connection.path, reason: "the id after the reserved ones: \(error)")
        }
    }

    /// Notes in the open transaction that ids below this one are reserved or were.
    static func setNext(_ next: Int64, _ connection: Connection) throws(StoreError) {
        var bytes = ByteWriter()
        bytes.write(integer: next)
        try Store.setMeta(connection, self.nextKey, bytes.bytes)
    }
}

extension Store {
    /// Reserves ids for a session, durable on return: only its transactions insert objects with them, and no other
    /// object ever gets them. Costs one commit. Call it outside a transaction. `unsaved`: the session, if the store
    /// does not know it yet. Throws `overtaken` on a follower.
    package func reserveIDs(_ count: Int, of session: UInt64, unsaved: Session?) throws(StoreError) -> ObjectID {
        precondition((1...Limits.reservedIDsPerRequestMax).contains(count), "the request was decoded")
        let first = self.nextObjectID
        guard Int64(count) <= Limits.objectIDMax - first + 1 else {
            throw .refused(.limitExceeded, "the store has no object ids left")
        }
        let ids = first...(first + Int64(count) - 1)
        func write() throws(StoreError) -> [LogNote] {
            if let unsaved { try self.write(unsaved) }
            var reserved = ReservedIDs()
            try reserved.add(ids, of: session, self.connection)
            let changed = try reserved.write(self.connection)
            try ReservedIDs.setNext(ids.upperBound + 1, self.connection)
            return (unsaved.map { [.session($0)] } ?? []) + changed.map { .reserved($0, $1) }
        }
        if self.membership != nil {
            try self.commitNotes(write)
        } else {
            try self.connection.beginWriting()
            do throws(StoreError) {
                _ = try write()
                try self.connection.commit()
            } catch {
                try self.connection.rollBack()
                throw error
            }
        }
        self.nextObjectID = ids.upperBound + 1
        self.hasReservedIDs = true
        return ObjectID(first)
    }
}
