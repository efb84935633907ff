import NestModel

/// What a column of Core Data holds, as a value of nest.
enum AdoptedValue {
    case value(AttributeValue)
    /// In words that follow the attribute's name.
    case invalid(String)
    case tooLarge(String)
    /// The bytes are in a file of this name.
    case file([UInt8])

    /// Core Data counts seconds since the beginning of 2001.
    private static let secondsFrom1970To2001: Double = 978_307_200

    /// `isExternal`: a byte before the data says where they are.
    static func read(_ cell: SourceCell, _ attribute: AttributeDescription, isExternal: Bool) -> AdoptedValue {
        let storage = cell.storage
        if storage == .null { return .value(.null) }
        let value: AttributeValue?
        switch attribute.type {
        case .string, .uri: return self.text(cell, storage, attribute)
        case .data: return self.data(cell, storage, isExternal: isExternal, bytesMax: Limits.valueBytesMax)
        // The bytes; `AdoptedObjects` puts them in their table.
        case .largeData: return self.data(cell, storage, isExternal: isExternal, bytesMax: Limits.largeValueBytesMax)
        case .largeText: return self.largeText(cell, storage)
        case .integer, .integer16, .integer32: value = self.integer(cell, storage).map { .integer($0) }
        case .boolean:
            value = storage == .integer || storage == .real ? .boolean(cell.real != 0) : nil
        case .double, .float:
            value = storage == .integer || storage == .real ? .double(cell.real) : nil
        case .decimal: value = self.decimal(cell, storage).map { .string($0) }
        case .date: value = self.date(cell, storage).map { .date($0) }
        case .uuid: value = self.uuid(cell, storage).map { .uuid($0) }
        }
        return value.map { self.checked($0, attribute) } ?? .invalid("has a value that is no \(attribute.type)")
    }

    /// Returns the value as nest stores it, or what is wrong with it.
    static func checked(_ value: AttributeValue, _ attribute: AttributeDescription) -> AdoptedValue {
        if attribute.isPlain, value.byteCount == 0 { return .value(value) }
        guard let fault = attribute.fault(value) else { return .value(attribute.kept(value)) }
        // The text of a fault must not have the size, so that equal faults are counted together.
        return fault.reason == .tooLarge
            ? .tooLarge("has more than \(Limits.valueBytesMax) bytes, the maximum of a value") : .invalid(fault.text)
    }

    private static func text(
        _ cell: SourceCell,
        _ storage: SourceCell.Storage,
        _ attribute: AttributeDescription
    ) -> AdoptedValue {
        guard storage == .text else { return .invalid("has a value that is no \(attribute.type)") }
        guard let text = cell.withText({ String(validating: $0, as: UTF8.self) }) else {
            return .invalid("has a text that is not UTF-8")
        }
        return self.checked(.string(text), attribute)
    }

    private static func largeText(_ cell: SourceCell, _ storage: SourceCell.Storage) -> AdoptedValue {
        guard storage == .text else { return .invalid("has a value that is no text") }
        return cell.withText { text in
            guard text.count <= Limits.largeValueBytesMax else { return self.tooLarge(Limits.largeValueBytesMax) }
            guard !text.contains(0), String(validating: text, as: UTF8.self) != nil else {
                return .invalid("has a text that is not UTF-8, or holds a NUL character")
            }
            return .value(.data([UInt8](text)))
        }
    }

    static func tooLarge(_ bytesMax: Int) -> AdoptedValue {
        .tooLarge("has more than \(bytesMax) bytes, the maximum of a value")
    }

    private static func data(
        _ cell: SourceCell,
        _ storage: SourceCell.Storage,
        isExternal: Bool,
        bytesMax: Int
    ) -> AdoptedValue {
        guard storage == .blob else { return .invalid("has a value that is no data") }
        return cell.withBlob { bytes in
            guard isExternal else { return self.data(bytes[...], bytesMax) }
            switch bytes.first {
            case nil: return .value(.data([]))
            case 1: return self.data(bytes.dropFirst(), bytesMax)
            case 2: return .file(bytes.dropFirst().prefix { $0 != 0 }.map { $0 })
            default: return .invalid("has data that begin with neither 1 nor 2, as data that may be in files do")
            }
        }
    }

    private static func data(_ bytes: Slice<UnsafeRawBufferPointer>, _ bytesMax: Int) -> AdoptedValue {
        guard bytes.count <= bytesMax else { return self.tooLarge(bytesMax) }
        return .value(.data([UInt8](bytes)))
    }

    private static func integer(_ cell: SourceCell, _ storage: SourceCell.Storage) -> Int64? {
        switch storage {
        case .integer: cell.integer
        case .real: Int64(exactly: cell.real)
        default: nil
        }
    }

    private static func decimal(_ cell: SourceCell, _ storage: SourceCell.Storage) -> String? {
        switch storage {
        case .integer: "\(cell.integer)"
        // The shortest text that gives the same number: what the app wrote, if it had at most 15 digits.
        case .real: DecimalText.canonical("\(cell.real)")
        case .text: cell.withText { DecimalText.canonical(String(decoding: $0, as: UTF8.self)) }
        default: nil
        }
    }

    private static func date(_ cell: SourceCell, _ storage: SourceCell.Storage) -> Int64? {
        guard storage == .integer || storage == .real else { return nil }
        let seconds = cell.real.rounded(.down)
        let part = ((cell.real - seconds) * 1_000_000).rounded()
        // The sum of two exact parts loses no microsecond.
        guard let whole = Int64(exactly: seconds + self.secondsFrom1970To2001),
            case let (scaled, isOver) = whole.multipliedReportingOverflow(by: 1_000_000), !isOver,
            case let (sum, isOverToo) = scaled.addingReportingOverflow(Int64(part)), !isOverToo
        else { return nil }
        return sum
    }

    private static func uuid(_ cell: SourceCell, _ storage: SourceCell.Storage) -> Identifier128? {
        guard storage == .blob else { return nil }
        return cell.withBlob { bytes in
            guard bytes.count == 16 else { return nil }
            return Identifier128(
                high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }
}
