import NestModel
import NestProtocol
import NestSchema

extension StoreReader {
    /// Reads a large value at one revision into a spool file. Blocks: call it on a thread that may block. `offset`: the
    /// first byte. `confinement`: the client's token scope.
    ///
    /// Memory: one chunk.
    package func exportValue(
        of object: ObjectID,
        _ property: PropertyNumber,
        from offset: Int,
        atLeast: Revision,
        isCompressed: Bool,
        confinement: AccessConfinement? = nil,
        deadline: ReadDeadline
    ) throws(NestError) -> ValueExport {
        try self.read(atLeast: atLeast, deadline: deadline) { (objects, revision) throws(StoreError) in
            if let confinement { try Confinement(confinement, objects).require(object) }
            guard let (layout, row) = try objects.object(object) else { throw ObjectGraph.notFound(object) }
            guard let slot = layout.slot(of: property), layout.kind(row.entity).slots.contains(slot),
                layout.largeSlots.contains(slot), case .attribute(let attribute) = layout.slots[slot]
            else {
                let name = layout.kind(row.entity).entity.propertyName(property) ?? "property \(property.rawValue)"
                throw .refused(.invalid, "\(name) of the object \(object) is not a large value: its row has it")
            }
            guard let value = LargeValue(row.values[slot]) else {
                throw .refused(
                    NestError(.notFound, "\(layout.fullName(slot, row.entity)) has no value", object: object)
                )
            }
            guard offset <= value.length else {
                throw .refused(.invalid, "the value has \(value.length) bytes: none begin at \(offset)")
            }
            var output = ValueOutput(
                chunks: try SpooledChunks(directory: self.spoolDirectory),
                compressor: isCompressed ? Zstandard.Compressor() : nil
            )
            let piece = Limits.largeValuePieceBytes
            try ValueTable(objects.connection).forEachPiece(of: value.id, from: offset / piece) {
                (number, bytes) throws(StoreError) in
                try output.append(number == offset / piece ? Array(bytes.dropFirst(offset % piece)) : bytes)
            }
            try output.flush()
            guard output.byteCount == value.length - offset else {
                throw .corrupt(path: self.path, reason: "the large value \(value.id) is not complete")
            }
            return ValueExport(
                revision: revision,
                type: attribute.type,
                value: value,
                chunks: output.chunks,
                byteCount: output.byteCount,
                checksum: output.checksum.value
            )
        }
    }
}

/// Joins pieces to chunks of the wire.
private struct ValueOutput {
    var chunks: SpooledChunks
    let compressor: Zstandard.Compressor?
    var checksum = SubtreeChecksum()
    var byteCount = 0
    private var waiting: [UInt8] = []

    init(chunks: SpooledChunks, compressor: Zstandard.Compressor?) {
        self.chunks = chunks
        self.compressor = compressor
    }

    mutating func append(_ bytes: [UInt8]) throws(StoreError) {
        self.byteCount += bytes.count
        self.waiting += bytes
        if self.waiting.count >= Limits.chunkBytes { try self.flush() }
    }

    mutating func flush() throws(StoreError) {
        guard !self.waiting.isEmpty else { return }
        let body = PackedBytes.pack(self.waiting, self.compressor, level: PackedBytes.transferLevel)
        self.checksum.add(body)
        try self.chunks.append(body)
        self.waiting.removeAll(keepingCapacity: true)
    }
}
