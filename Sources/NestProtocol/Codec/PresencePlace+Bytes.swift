import NestModel

/// The bytes of a presence as clients of nest write them: tagged fields, all of them optional.
extension PresencePlace {
    /// Returns `nil` for bytes of another form: programs may show anything.
    package init?(presence bytes: [UInt8]) {
        do throws(DecodingFailure) {
            self = try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in
                let place = try PresencePlace(from: &reader)
                try reader.finish("place")
                return place
            }
        } catch {
            return nil
        }
    }

    private init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.init()
        var (object, property, selection) = (self.object, self.property, self.selection)
        try TaggedFields.read(from: &reader) { (tag, field) throws(DecodingFailure) in
            switch tag {
            case 1: object = try field.objectID("object")
            case 2: property = try field.propertyNumber("property")
            case 3: selection = Selection(anchor: try field.index("anchor"), head: try field.index("head"))
            default: break
            }
        }
        self.init(object: object, property: property, selection: selection)
    }

    package var presence: [UInt8] {
        var fields = TaggedFields()
        if let object { fields.add(1) { $0.write(objectID: object) } }
        if let property { fields.add(2) { $0.write(varint: UInt64(property.rawValue)) } }
        if let selection {
            fields.add(3) {
                $0.write(varint: UInt64(max(0, selection.anchor)))
                $0.write(varint: UInt64(max(0, selection.head)))
            }
        }
        var writer = ByteWriter()
        fields.encode(into: &writer)
        return writer.bytes
    }
}
