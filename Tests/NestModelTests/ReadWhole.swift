import NestModel

/// Returns the result of `body`, which must read all bytes.
func readWhole<Value>(
    _ bytes: [UInt8],
    _ body: (inout ByteReader) throws(DecodingFailure) -> Value
) throws -> Value {
    try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in
        let value = try body(&reader)
        try reader.finish("end")
        return value
    }
}
