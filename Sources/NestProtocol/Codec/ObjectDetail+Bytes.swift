import NestModel

extension ByteWriter {
    package mutating func write(objectDetail object: ObjectDetail) {
        self.write(count: Int(object.entity.rawValue))
        self.write(objectID: object.id)
        self.write(revision: object.revision)
        self.write(count: object.values.count)
        for (property, value) in object.values {
            self.write(count: Int(property.rawValue))
            self.write(value: value)
        }
        self.write(count: object.counts.count)
        for (property, count) in object.counts {
            self.write(count: Int(property.rawValue))
            self.write(count: count)
        }
    }
}

extension ByteReader {
    package mutating func objectDetail() throws(DecodingFailure) -> ObjectDetail {
        var object = ObjectDetail(
            entity: try self.entityNumber("entity"),
            id: try self.objectID("id"),
            revision: try self.revision("revision"),
            values: [],
            counts: []
        )
        for _ in 0..<(try self.count("values", max: Limits.propertiesPerEntityMax, bytesEach: 2)) {
            object.values.append((try self.propertyNumber("property"), try self.value("value")))
        }
        for _ in 0..<(try self.count("counts", max: Limits.propertiesPerEntityMax, bytesEach: 2)) {
            object.counts.append((try self.propertyNumber("property"), try self.index("count")))
        }
        return object
    }
}
