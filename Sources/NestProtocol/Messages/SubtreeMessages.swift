import NestModel

/// Requests a sub-tree. The server answers with SUBTREE_START, chunks under credit and SUBTREE_END, or with an ERROR at
/// any time.
package struct FetchSubtree: Message, Equatable {
    package static let type = MessageType.fetchSubtree
    package var request: SubtreeRequest
    package var atLeast: Revision

    package init(_ request: SubtreeRequest, atLeast: Revision = Revision(0)) {
        self.request = request
        self.atLeast = atLeast
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.atLeast = try reader.revision("at least")
        let root = try reader.objectID("root")
        let relationship = try reader.propertyNumber("relationship")
        // 0 is no limit; n levels are written as n + 1.
        let limit = try reader.index("depth limit")
        self.request = SubtreeRequest(
            root: root,
            relationship: relationship,
            depthLimit: limit == 0 ? nil : limit - 1,
            properties: try reader.properties()
        )
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(revision: self.atLeast)
        writer.write(objectID: self.request.root)
        writer.write(count: Int(self.request.relationship.rawValue))
        writer.write(count: self.request.depthLimit.map { $0 + 1 } ?? 0)
        writer.write(properties: self.request.properties)
    }
}

/// The first answer. The chunks that follow are the state at one revision.
package struct SubtreeStart: Message, Equatable {
    package static let type = MessageType.subtreeStart
    package var revision: Revision
    package var entity: EntityNumber
    package var rowCount: Int
    package var byteCount: Int
    package var properties: [PropertyNumber]

    package init(
        revision: Revision,
        entity: EntityNumber,
        rowCount: Int,
        byteCount: Int,
        properties: [PropertyNumber]
    ) {
        self.revision = revision
        self.entity = entity
        self.rowCount = rowCount
        self.byteCount = byteCount
        self.properties = properties
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.revision = try reader.revision("revision")
        self.entity = try reader.entityNumber("entity")
        self.rowCount = try reader.index("row count")
        self.byteCount = try reader.index("byte count")
        self.properties = try reader.properties()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(revision: self.revision)
        writer.write(count: Int(self.entity.rawValue))
        writer.write(count: self.rowCount)
        writer.write(count: self.byteCount)
        writer.write(properties: self.properties)
    }
}

/// The end of a stream. A stream without it, or with another count or checksum, is invalid as a whole.
package struct SubtreeEnd: Message, Equatable {
    package static let type = MessageType.subtreeEnd
    package var rowCount: Int
    package var checksum: UInt64

    package init(rowCount: Int, checksum: UInt64) {
        self.rowCount = rowCount
        self.checksum = checksum
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.rowCount = try reader.index("row count")
        self.checksum = try reader.integer(UInt64.self, "checksum")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(count: self.rowCount)
        writer.write(integer: self.checksum)
    }
}

/// Starts an upload: its chunks follow under the same id, then SUBTREE_END; the reply is a RECEIPT.
package struct ImportSubtree: Message, Equatable {
    package static let type = MessageType.importSubtree
    package var request: SubtreeImport

    package init(_ request: SubtreeImport) {
        self.request = request
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        let key = try reader.key()
        let name = try reader.string("name", max: Limits.nameBytesMax)
        self.request = SubtreeImport(
            key: key,
            name: name.isEmpty ? nil : name,
            entity: try reader.entityNumber("entity"),
            placement: try reader.placement(),
            properties: try reader.properties()
        )
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(key: self.request.key)
        writer.write(string: self.request.name ?? "")
        writer.write(count: Int(self.request.entity.rawValue))
        writer.write(placement: self.request.placement)
        writer.write(properties: self.request.properties)
    }
}
