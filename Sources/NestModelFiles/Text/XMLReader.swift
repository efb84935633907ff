import NestModel

/// Reads the XML that programs write: elements, attributes, references to characters, comments. A document type
/// declaration is refused, so there are no entities to expand and nothing outside the file is ever opened.
struct XMLReader {
    private var scanner: TextScanner
    /// Elements that have begun and not ended, each in the one before it.
    private var open: [XMLElement] = []

    /// The outermost element of a document.
    static func parse(_ bytes: [UInt8]) throws(SyntaxFault) -> XMLElement {
        var reader = XMLReader(scanner: try TextScanner(bytes))
        return try reader.document()
    }

    private init(scanner: TextScanner) {
        self.scanner = scanner
    }

    private mutating func document() throws(SyntaxFault) -> XMLElement {
        try self.declaration()
        try self.skipMisc()
        // Without recursion, whatever the depth.
        var ended = try self.startTag()
        while ended == nil { ended = try self.content() }
        try self.skipMisc()
        guard self.scanner.peek == nil else {
            throw self.scanner.fault("nothing may follow the end of <\(ended!.name)>")
        }
        return ended!
    }

    /// `<?xml … ?>`, which may name no other encoding: in one, what is refused here could be written in other bytes.
    private mutating func declaration() throws(SyntaxFault) {
        let start = self.scanner.index
        guard self.scanner.skip("<?xml") else { return }
        guard let bytes = self.scanner.take(until: "?>") else {
            throw self.scanner.fault(at: start, "the XML declaration has no end")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let encoding = text.firstMatch(of: /encoding\s*=\s*["']([^"']*)["']/)?.1 else { return }
        guard ["utf-8", "us-ascii"].contains(encoding.lowercased()) else {
            throw self.scanner.fault(at: start, "the encoding is \(encoding); only UTF-8 is read")
        }
    }

    /// Passes over space, comments and processing instructions.
    private mutating func skipMisc() throws(SyntaxFault) {
        while true {
            self.scanner.skipSpace()
            let start = self.scanner.index
            if self.scanner.skip("<!--") {
                guard self.scanner.take(until: "-->") != nil else {
                    throw self.scanner.fault(at: start, "the comment has no end")
                }
            } else if self.scanner.skip("<?") {
                guard self.scanner.take(until: "?>") != nil else {
                    throw self.scanner.fault(at: start, "the processing instruction has no end")
                }
            } else {
                return
            }
        }
    }

    /// One piece of what is in the innermost element. Returns the outermost element when that has ended.
    private mutating func content() throws(SyntaxFault) -> XMLElement? {
        let start = self.scanner.index
        let innermost = self.open[self.open.count - 1].name
        if self.scanner.skip("</") {
            let name = try self.name("the name of an element")
            self.scanner.skipSpace()
            guard name == innermost, self.scanner.skip(">") else {
                throw self.scanner.fault(at: start, "</\(innermost)> is expected here")
            }
            return self.close()
        }
        if self.scanner.isAt("<!--") || self.scanner.isAt("<?") {
            try self.skipMisc()
        } else if self.scanner.skip("<![CDATA[") {
            guard let bytes = self.scanner.take(until: "]]>") else {
                throw self.scanner.fault(at: start, "the CDATA section has no end")
            }
            self.open[self.open.count - 1].text += String(decoding: bytes, as: UTF8.self)
        } else if self.scanner.isAt("<") {
            return try self.startTag()
        } else if self.scanner.peek == nil {
            throw self.scanner.fault("<\(innermost)> has no end")
        } else {
            let text = try self.characters { $0 != UInt8(ascii: "<") }
            // Space is there for the reader's eye.
            if !text.utf8.allSatisfy(TextScanner.isSpace) { self.open[self.open.count - 1].text += text }
        }
        return nil
    }

    /// `<name attribute="value" …>` or `… />`. Returns the outermost element when that was it.
    private mutating func startTag() throws(SyntaxFault) -> XMLElement? {
        if self.scanner.isAt("<!DOCTYPE") {
            throw self.scanner.fault("a document type declaration is not read; no model needs one")
        }
        guard self.scanner.skip("<") else { throw self.scanner.fault("an element is expected here") }
        guard self.open.count < Limits.modelFileDepthMax else {
            throw self.scanner.fault("more than \(Limits.modelFileDepthMax) elements within each other")
        }
        var element = XMLElement(try self.name("the name of an element"))
        while true {
            let before = self.scanner.index
            self.scanner.skipSpace()
            let isEmpty = self.scanner.skip("/>")
            if isEmpty || self.scanner.skip(">") {
                self.open.append(element)
                return isEmpty ? self.close() : nil
            }
            guard self.scanner.index > before else { throw self.scanner.fault("<\(element.name)> is not ended by >") }
            try self.attribute(of: &element)
        }
    }

    private mutating func attribute(of element: inout XMLElement) throws(SyntaxFault) {
        let start = self.scanner.index
        let name = try self.name("the name of an attribute, or the end of <\(element.name)>,")
        self.scanner.skipSpace()
        guard self.scanner.skip("=") else { throw self.scanner.fault("= and a value must follow \(name)") }
        self.scanner.skipSpace()
        guard let quote = self.scanner.next(), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw self.scanner.fault(at: start, "the value of \(name) is not in quotes")
        }
        let value = try self.characters { $0 != quote && $0 != UInt8(ascii: "<") }
        guard self.scanner.next() == quote else {
            throw self.scanner.fault(at: start, "the value of \(name) has no closing quote, or a < in it")
        }
        guard element.attributes.updateValue(value, forKey: name) == nil else {
            throw self.scanner.fault(at: start, "<\(element.name)> has \(name) twice")
        }
    }

    /// Ends the innermost element. Returns it when it is the outermost too.
    private mutating func close() -> XMLElement? {
        let element = self.open.removeLast()
        guard !self.open.isEmpty else { return element }
        self.open[self.open.count - 1].children.append(element)
        return nil
    }

    private mutating func name(_ what: String) throws(SyntaxFault) -> String {
        let start = self.scanner.index
        let bytes = self.scanner.take { byte in
            byte > 0x7f || !(TextScanner.isSpace(byte) || byte < 0x20 || "<>/='\"&!?".utf8.contains(byte))
        }
        guard let first = bytes.first, !(0x30...0x39).contains(first), !"-.".utf8.contains(first) else {
            throw self.scanner.fault(at: start, "\(what) is expected here")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Text with its references resolved. As XML says of attributes, the ends of lines in it are spaces.
    private mutating func characters(while isText: (UInt8) -> Bool) throws(SyntaxFault) -> String {
        var text: [UInt8] = []
        while let byte = self.scanner.peek, isText(byte) {
            if byte == UInt8(ascii: "&") {
                text.append(contentsOf: String(try self.reference()).utf8)
                continue
            }
            guard byte >= 0x20 || TextScanner.isSpace(byte) else { throw self.scanner.fault("a control character") }
            text.append(byte < 0x20 ? 0x20 : byte)
            _ = self.scanner.next()
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// `&lt;` and its like, `&#38;`, `&#x26;`.
    private mutating func reference() throws(SyntaxFault) -> Unicode.Scalar {
        let start = self.scanner.index
        _ = self.scanner.next()
        let name = String(
            decoding: self.scanner.take { $0 != UInt8(ascii: ";") && !TextScanner.isSpace($0) },
            as: UTF8.self
        )
        let scalar: Unicode.Scalar? =
            switch name {
            case "lt": "<"
            case "gt": ">"
            case "amp": "&"
            case "quot": "\""
            case "apos": "'"
            case _ where name.hasPrefix("#x"): UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
            case _ where name.hasPrefix("#"): UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init)
            default: nil
            }
        guard let scalar, self.scanner.skip(";"), scalar.value >= 0x20 || [0x09, 0x0a, 0x0d].contains(scalar.value)
        else {
            throw self.scanner.fault(at: start, "'&\(name.prefix(16))' is no reference to a character")
        }
        return scalar
    }
}
