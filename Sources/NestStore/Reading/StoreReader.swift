import NestProtocol
import NestModel
import NestSchema

/// Reads a store while its writer works: each call has its own read-only connection, which never checkpoints.
package struct StoreReader: Sendable {
    let path: String
    let layout: ModelLayout
    /// The hash of the model that it reads with.
    package var modelHash: UInt64 { self.layout.modelHash }
    /// The directory of spool files: the store's.
    package let spoolDirectory: String

    /// The number of objects of one owner that are read at a time: it bounds the memory of a level of the hierarchy.
    private static let pageCount = 64

    /// Reads a sub-tree in preorder at one revision into a spool file, at the speed of the server. Blocks: call it on a
    /// thread that may block. `confinement`: the client's token scope.
    ///
    /// Memory: one page for each level that has objects left; no recursion.
    package func exportSubtree(
        _ request: SubtreeRequest,
        atLeast: Revision,
        isCompressed: Bool,
        confinement: AccessConfinement? = nil,
        deadline: ReadDeadline
    ) throws(NestError) -> SubtreeExport {
        do throws(StoreError) {
            let connection = try Connection(path: self.path, role: .reader)
            defer { try? connection.close() }
            return try connection.limited(by: deadline, "request parts of the sub-tree") { () throws(StoreError) in
                try connection.access { () throws(StoreError) in
                    // The read transaction ends here, before the server sends anything.
                    try connection.beginReading()
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
        } catch {
            throw error.nestError
        }
    }

    /// Reads objects and results at one revision. Blocks: call it on a thread that may block. The write-ahead log
    /// cannot be reset meanwhile.
    package func read<Value>(
        atLeast: Revision = Revision(0),
        deadline: ReadDeadline = .none,
        _ body: (ObjectReader, Revision) throws(StoreError) -> Value
    ) throws(NestError) -> Value {
        do throws(StoreError) {
            let connection = try Connection(path: self.path, role: .reader)
            defer { try? connection.close() }
            return try connection.limited(by: deadline, ReadDeadline.advice) { () throws(StoreError) in
                try connection.access { () throws(StoreError) in
                    try connection.beginReading()
                    defer { try? connection.execute("ROLLBACK") }
                    let newest = try Journal(connection: connection, layout: self.layout).newest()
                    let revision = newest?.revision ?? Revision(0)
                    guard revision >= atLeast else {
                        throw .refused(
                            .revisionNotReached,
                            "the store is at revision \(revision), not yet at \(atLeast)"
                        )
                    }
                    let tables = self.layout.entities.map { EntityTable($0, connection) }
                    return try body(ObjectReader(connection, self.layout, tables), revision)
                }
            }
        } catch {
            throw error.nestError
        }
    }

    private struct Level {
        var owner: ObjectID
        /// The depth of its objects.
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
    ) throws(StoreError) -> SubtreeExport {
        let newest = try Journal(connection: connection, layout: self.layout).newest()
        let revision = newest?.revision ?? Revision(0)
        guard revision >= atLeast else {
            throw .refused(.revisionNotReached, "the store is at revision \(revision), not yet at \(atLeast)")
        }
        if let confinement {
            let tables = self.layout.entities.map { EntityTable($0, connection) }
            try Confinement(confinement, ObjectReader(connection, self.layout, tables)).check(request)
        }
        let (table, toMany) = try self.follow(request, connection)
        let layout = table.layout
        let properties = request.properties.isEmpty ? layout.entity.attributes.map(\.number) : request.properties
        let projection = try properties.map { (property) throws(StoreError) in
            guard let slot = layout.slot(of: property) else {
                throw .refused(
                    .unknownProperty,
                    "\(layout.name) has no stored property number \(property.rawValue)"
                )
            }
            return slot
        }
        var output = ExportOutput(
            path: self.path,
            chunks: try SpooledChunks(directory: self.spoolDirectory),
            valueCount: projection.count,
            isCompressed: isCompressed,
            rowsMax: Int(newest?.nextObjectID ?? .max)
        )
        guard let root = try table.encodedValues(request.root, projection: projection) else {
            throw ObjectGraph.notFound(request.root)
        }
        try output.append(depth: 0, request.root, root)
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
            try output.append(depth: depth, row.id, row.values)
            // A finished level is dropped: a chain of any length takes the memory of one level.
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
        /// The path of the store.
        private let path: String
        private(set) var chunks: SpooledChunks
        private var writer: SubtreeChunkWriter
        var checksum = SubtreeChecksum()
        var rowCount = 0
        private let compressor: Zstandard.Compressor?

        /// A tree with more objects than were ever created has a cycle.
        private let rowsMax: Int

        init(path: String, chunks: SpooledChunks, valueCount: Int, isCompressed: Bool, rowsMax: Int) {
            self.path = path
            self.chunks = chunks
            self.rowsMax = rowsMax
            self.writer = SubtreeChunkWriter(valueCount: valueCount, hasIDs: true)
            self.compressor = isCompressed ? Zstandard.Compressor() : nil
        }

        mutating func append(depth: Int, _ id: ObjectID, _ values: [UInt8]) throws(StoreError) {
            do throws(DecodingFailure) {
                try self.writer.append(depth: depth, id: id, encodedValues: values)
            } catch {
                throw .corrupt(path: self.path, reason: "a value of the object \(id): \(error.description)")
            }
            if self.writer.isFull { try self.flush() }
        }

        mutating func flush() throws(StoreError) {
            guard self.writer.rowCount > 0 else { return }
            self.rowCount += self.writer.rowCount
            guard self.rowCount <= self.rowsMax else {
                throw .refused(.storageCorrupt, "the sub-tree has a cycle: check the store with nestd --check")
            }
            let body = PackedBytes.pack(self.writer.take(), self.compressor, level: PackedBytes.transferLevel)
            self.checksum.add(body)
            try self.chunks.append(body)
            guard self.chunks.byteCount <= Limits.spoolBytesMax else {
                throw .refused(.limitExceeded, "the sub-tree has more than \(Limits.spoolBytesMax) bytes")
            }
        }
    }

    /// Returns the root's table, and the relationship that leads down.
    private func follow(
        _ request: SubtreeRequest,
        _ connection: Connection
    ) throws(StoreError) -> (table: EntityTable, toMany: EntityLayout.ToMany) {
        for layout in self.layout.entities where !layout.isJoin {
            let table = EntityTable(layout, connection)
            guard try table.exists(request.root) else { continue }
            guard let toMany = layout.toMany(request.relationship) else {
                throw .refused(
                    .unknownProperty,
                    "\(layout.name) has no to-many relationship number \(request.relationship.rawValue)"
                )
            }
            guard !toMany.relationship.isHiddenInverse else {
                throw .refused(
                    .unsupported,
                    "\(layout.name).\(toMany.relationship.name) is a hidden inverse, so it has no sub-tree"
                )
            }
            guard self.layout[toMany.destination] === layout else {
                throw .refused(
                    .unsupported,
                    "\(layout.name).\(toMany.relationship.name) leads to another entity, so it has no sub-tree"
                )
            }
            return (table, toMany)
        }
        throw ObjectGraph.notFound(request.root)
    }
}
