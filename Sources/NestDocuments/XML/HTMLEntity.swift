import CLibXML2

/// The named characters of HTML, such as `&nbsp;`, from libxml2's table.
enum HTMLEntity {
    /// The longest name has eight bytes: `thetasym`.
    static let nameBytesMax = 8

    /// Returns the number of the character with this name.
    static func number(_ name: some StringProtocol) -> Int? {
        guard name.utf8.count <= Self.nameBytesMax, let entity = String(name).withXMLText(htmlEntityLookup) else {
            return nil
        }
        return Int(entity.pointee.value)
    }

    /// Whether XML has the name too.
    static func isXML(_ name: String) -> Bool { ["amp", "lt", "gt", "quot", "apos"].contains(name) }
}

extension String {
    fileprivate func withXMLText<Result>(_ body: (UnsafePointer<xmlChar>?) -> Result) -> Result {
        var text = self
        return text.withUTF8 { bytes in
            let terminated = Array(bytes) + [0]
            return terminated.withUnsafeBufferPointer { body($0.baseAddress) }
        }
    }
}
