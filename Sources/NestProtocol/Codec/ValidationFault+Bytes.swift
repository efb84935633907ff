import NestModel

extension ByteWriter {
    package mutating func write(validationFault fault: ValidationFault) {
        self.write(count: Int(fault.entity.rawValue))
        self.write(count: Int(fault.property?.rawValue ?? 0))
        self.write(varint: UInt64(clamping: fault.object?.rawValue ?? 0))
        self.write(byte: fault.reason.rawValue)
        self.write(string: fault.message)
    }
}

extension ByteReader {
    package mutating func validationFault() throws(DecodingFailure) -> ValidationFault {
        let entity = try self.entityNumber("fault entity")
        let property = try self.propertyNumber("fault property")
        let object = try self.varint("fault object")
        guard object <= UInt64(Limits.objectIDMax) else { throw DecodingFailure(.outOfRange, "fault object") }
        return ValidationFault(
            entity: entity,
            property: property.rawValue == 0 ? nil : property,
            object: object == 0 ? nil : ObjectID(Int64(object)),
            reason: ValidationFault.Reason(rawValue: try self.byte("fault reason")) ?? .other,
            message: try self.string("fault message", max: Limits.frameBytesMax)
        )
    }
}
