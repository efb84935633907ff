import NestCompression
import NestModel

/// Reads a store beside its one writer: a read-only connection of its own per call, which never checkpoints.
package struct StoreReader: Sendable {
    let path: String
    let layout: ModelLayout
    /// Where spool files go: beside the store.
    package let spoolDirectory: String

    /// Objects of one owner that are read at a time: bounds the memory a level of the hierarchy takes.
    private static let pageCount = 64

    /// Reads a sub-tree in preorder at one revision, at server speed, into a spool file. Blocks: call it on a thread
    /// that may. `confinement`: of who asks.
    ///
    /// Memory: one page for each level that has objects left; no recursion.
    package func exportSubtree(
        _ request: SubtreeRequest,
        atLeast: Revision,
        isCompressed: Bool,
        confinement: AccessConfinement? = nil,
        watch: ReadWatch
    ) throws(NestError) -> SubtreeExport {
        do {
            let connection = try Connection(path: self.path, role: .reader)
            defer { try? connection.close() }
            return try connection.watched(by: watch, "ask for parts of it") {
                try connection.access {
                    // The read transaction ends here, before anything is sent to anybody.
                    try connection.execute("BEGIN")
                    defer { try? connection.execute("ROLLBACK") }
                    return try self.export(
                        request,
                        atLeast: atLeast,
                        isCompressed: isCompressed,
                        confinement,
                        connection
                    )
                }
            }
        } catch let error as NestError {
            throw error
        } catch {
            throw StoreError(error).nestError
        }
    }

    /// Reads objects and results as they are at one revision. Blocks: call it on a thread that may. The write-ahead log cannot
    /// be reset meanwhile.
    package func read<Value>(
        atLeast: Revision = Revision(0),
        watch: ReadWatch = .none,
        _ body: (ObjectReader, Revision) throws -> Value
    ) throws(NestError) -> Value {
        do {
            let connection = try Connection(path: self.path, role: .reader)
            defer { try? connection.close() }
            return try connection.watched(by: watch, "ask for less of it") {
                try connection.access {
                    try connection.execute("BEGIN")
                    defer { try? connection.execute("ROLLBACK") }
                    let newest = try Journal(connection: connection, layout: self.layout).newest()
                    let revision = newest?.revision ?? Revision(0)
                    guard revision >= atLeast else {
                        throw NestError(
                            .revisionNotReached,
                            "the store is at revision \(revision), not yet at \(atLeast)"
                        )
                    }
                    let tables = self.layout.entities.map { EntityTable($0, connection) }
                    return try body(ObjectReader(connection, self.layout, tables), revision)
                }
            }
        } catch let error as NestError {
            throw error
        } catch {
            throw StoreError(error).nestError
        }
    }

    private struct Level {
        var owner: ObjectID
        /// Of its objects.
        var depth: Int
        var page: [PageReader.Row] = []
        var index = 0
        var isLast = false
    }

    private func export(
        _ request: SubtreeRequest,
        atLeast: Revision,
        isCompressed: Bool,
        _ confinement: AccessConfinement?,
        _ connection: Connection
    ) throws -> SubtreeExport {
        let newest = try Journal(connection: connection, layout: self.layout).newest()
        let revision = newest?.revision ?? Revision(0)
        guard revision >= atLeast else {
            throw NestError(.revisionNotReached, "the store is at revision \(revision), not yet at \(atLeast)")
        }
        if let confinement {
            let tables = self.layout.entities.map { EntityTable($0, connection) }
            try Confinement(confinement, ObjectReader(connection, self.layout, tables)).check(request)
        }
        let (table, toMany) = try self.follow(request, connection)
        let layout = table.layout
        let properties = request.properties.isEmpty ? layout.entity.attributes.map(\.number) : request.properties
        let projection = try properties.map { property in
            guard let slot = layout.slot(of: property) else {
                throw NestError(
                    .unknownProperty,
                    "\(layout.name) has no stored property number \(property.rawValue)"
                )
            }
            return slot
        }
        var output = ExportOutput(
            chunks: try SpooledChunks(directory: self.spoolDirectory),
            valueCount: projection.count,
            isCompressed: isCompressed,
            rowsMax: Int(newest?.nextObjectID ?? .max)
        )
        guard let root = try table.encodedValues(request.root, projection: projection) else {
            throw ObjectGraph.notFound(request.root)
        }
        try output.writer.append(depth: 0, id: request.root, encodedValues: root)
        let pages = table.pages(slot: toMany.inverseSlot, projection: projection)
        var levels: [Level] = request.depthLimit == 0 ? [] : [Level(owner: request.root, depth: 1)]
        while var level = levels.popLast() {
            if level.index == level.page.count, !level.isLast {
                level.page = try pages.page(
                    of: level.owner,
                    after: level.page.last?.position,
                    limit: Self.pageCount
                )
                level.index = 0
                level.isLast = level.page.count < Self.pageCount
            }
            guard level.index < level.page.count else { continue }
            let row = level.page[level.index]
            level.index += 1
            let depth = level.depth
            try output.writer.append(depth: depth, id: row.id, encodedValues: row.values)
            if output.writer.isFull { try output.flush() }
            // One that is at its end is forgotten: a chain of any length takes the memory of one level.
            if level.index < level.page.count || !level.isLast { levels.append(level) }
            if request.depthLimit.map({ depth < $0 }) ?? true { levels.append(Level(owner: row.id, depth: depth + 1)) }
        }
        try output.flush()
        return SubtreeExport(
            revision: revision,
            entity: layout.number,
            properties: properties,
            chunks: output.chunks,
            rowCount: output.rowCount,
            checksum: output.checksum.value
        )
    }

    private struct ExportOutput {
        var chunks: SpooledChunks
        var writer: SubtreeChunkWriter
        var checksum = SubtreeChecksum()
        var rowCount = 0
        private let compressor: Zstandard.Compressor?

        /// More objects than were ever made are in no tree: it runs in a circle.
        private let rowsMax: Int

        init(chunks: SpooledChunks, valueCount: Int, isCompressed: Bool, rowsMax: Int) {
            self.chunks = chunks
            self.rowsMax = rowsMax
            self.writer = SubtreeChunkWriter(valueCount: valueCount, hasIDs: true)
            self.compressor = isCompressed ? Zstandard.Compressor() : nil
        }

        mutating func flush() throws {
            guard self.writer.rowCount > 0 else { return }
            self.rowCount += self.writer.rowCount
            guard self.rowCount <= self.rowsMax else {
                throw NestError(.storageCorrupt, "the sub-tree runs in a circle: check the store")
            }
            let body = PackedBytes.pack(self.writer.take(), self.compressor, level: PackedBytes.transferLevel)
            self.checksum.add(body)
            try self.chunks.append(body)
            guard self.chunks.byteCount <= Limits.spoolBytesMax else {
                throw NestError(.limitExceeded, "the sub-tree has more than \(Limits.spoolBytesMax) bytes")
            }
        }
    }

    /// The root's table, and the relationship that leads down.
    private func follow(
        _ request: SubtreeRequest,
        _ connection: Connection
    ) throws -> (table: EntityTable, toMany: EntityLayout.ToMany) {
        for layout in self.layout.entities where !layout.isJoin {
            let table = EntityTable(layout, connection)
            guard try table.exists(request.root) else { continue }
            guard let toMany = layout.toMany(request.relationship) else {
                throw NestError(
                    .unknownProperty,
                    "\(layout.name) has no to-many relationship number \(request.relationship.rawValue)"
                )
            }
            guard self.layout[toMany.destination] === layout else {
                throw NestError(
                    .unsupported,
                    "\(layout.name).\(toMany.relationship.name) leads to another entity: no sub-tree"
                )
            }
            return (table, toMany)
        }
        throw ObjectGraph.notFound(request.root)
    }
}
