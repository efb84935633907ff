import NestModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Decodes a row, or the columns of it whose names begin with a path.
struct RowDecoder: Decoder {
    let row: FetchedRow
    /// What the names of the columns begin with: "", or "owner." for a nested structure `owner`.
    var path = ""
    var codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(RowContainer<Key>(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw DecodingError.typeMismatch(
            [AttributeValue].self,
            .init(codingPath: self.codingPath, debugDescription: "a row is no list")
        )
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { WholeRow(decoder: self) }
}

/// A row as one value, for types that wrap another one.
private struct WholeRow: SingleValueDecodingContainer {
    let decoder: RowDecoder
    var codingPath: [any CodingKey] { self.decoder.codingPath }

    func decodeNil() -> Bool { false }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard !(type is any AttributeConvertible.Type) else {
            throw DecodingError.typeMismatch(
                type,
                .init(codingPath: self.codingPath, debugDescription: "a row is no \(type)")
            )
        }
        return try Value(from: self.decoder)
    }
}

/// The columns of a row by key.
private struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: RowDecoder
    var codingPath: [any CodingKey] { self.decoder.codingPath }

    private var row: FetchedRow { self.decoder.row }

    /// The keys of the columns, and of the nested structures.
    var allKeys: [Key] {
        var names = self.row.names.filter { $0.hasPrefix(self.decoder.path) }
            .map { String($0.dropFirst(self.decoder.path.count).prefix { $0 != "." }) }
        if self.decoder.path.isEmpty { names.append("id") }
        return Set(names).compactMap(Key.init(stringValue:))
    }

    func contains(_ key: Key) -> Bool { self.value(key) != nil || self.isStructure(key) }

    private func value(_ key: Key) -> AttributeValue? {
        if let value = self.row.find(self.decoder.path + key.stringValue) { return value }
        // As a reference is decoded: as an ObjectID, or as its number.
        return self.decoder.path.isEmpty && key.stringValue == "id" ? .reference(self.row.id) : nil
    }

    private func isStructure(_ key: Key) -> Bool {
        let path = self.decoder.path + key.stringValue + "."
        return self.row.names.contains { $0.hasPrefix(path) }
    }

    private func nested(_ key: Key) -> RowDecoder {
        RowDecoder(
            row: self.row,
            path: self.decoder.path + key.stringValue + ".",
            codingPath: self.codingPath + [key]
        )
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        if let value = self.value(key), !value.isNull || !self.isStructure(key) { return value.isNull }
        guard self.isStructure(key) else { throw self.missing(key) }
        // A structure of related values is null if all of them are: there is no related object.
        let path = self.decoder.path + key.stringValue + "."
        return self.row.names.allSatisfy { !$0.hasPrefix(path) || self.row[$0].isNull }
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        if self.isStructure(key), !(type is any AttributeConvertible.Type) { return try Value(from: self.nested(key)) }
        guard let value = self.value(key) else { throw self.missing(key) }
        return try ValueDecoder(value: value, codingPath: self.codingPath + [key]).decode(type)
    }

    private func missing(_ key: Key) -> DecodingError {
        let name = self.decoder.path + key.stringValue
        return .keyNotFound(
            key,
            .init(codingPath: self.codingPath, debugDescription: self.row.columns.unknown(name))
        )
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        guard self.isStructure(key) else { throw self.missing(key) }
        return self.nested(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try self.nested(key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder { self.decoder }
    func superDecoder(forKey key: Key) -> any Decoder { self.nested(key) }
}

/// Decodes one value: types that are values of attributes as such, and all others by their own decoding, such as an
/// enumeration with raw values.
private struct ValueDecoder: Decoder, SingleValueDecodingContainer {
    let value: AttributeValue
    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any] = [:]

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        throw self.mismatch(type)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw self.mismatch([Any].self) }

    func decodeNil() -> Bool { self.value.isNull }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard let convertible = type as? any AttributeConvertible.Type else { return try Value(from: self) }
        guard let value = try self.converted(convertible) as? Value else { throw self.mismatch(type) }
        return value
    }

    private func converted<Value: AttributeConvertible>(_ type: Value.Type) throws -> any AttributeConvertible {
        if let value = Value(self.value) { return value }
        // An id is a number too.
        guard case .reference(let id) = self.value, let number = Value(.integer(id.rawValue)) else {
            throw self.mismatch(type)
        }
        return number
    }

    private func mismatch(_ type: Any.Type) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: self.codingPath,
            debugDescription: "the value is \(self.value.typeName), not \(type)"
        )
        return self.value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }
}
