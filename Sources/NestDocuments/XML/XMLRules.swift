import CLibXML2
import NestModel

extension Limits {
    /// The maximum size of one tag or comment of an XML document: enough for three values whose every byte is a
    /// reference.
    static let xmlMarkupBytesMax = 20 * Limits.valueBytesMax
    /// How deep the elements of an OPML document may nest: the levels of an outline, and elements around and in it.
    static let outlineElementDepthMax = Limits.depthMax + 32
    /// How deep the elements of a model's XML may nest, and the values of its JSON.
    public static let modelFileDepthMax = 32
}

/// The rules for one kind of XML documents.
struct XMLRules: Sendable {
    /// The name of the content in error messages.
    var subject: String
    /// Whether processing instructions are skipped; otherwise they are refused.
    var skipsInstructions: Bool
    /// Whether a name may have the prefix of a namespace that no element declares. XML itself allows it.
    var allowsUnknownPrefixes: Bool
    /// How deep elements may nest.
    var depthMax: Int

    /// The rules for OPML: other programs add instructions such as style sheets. An export of a part of a file has the
    /// prefixes of the file, but not the declarations outside of the part.
    static let outline = XMLRules(
        subject: "outline",
        skipsInstructions: true,
        allowsUnknownPrefixes: true,
        depthMax: Limits.outlineElementDepthMax
    )

    /// The rules for Core Data's XML: Xcode writes no instructions, so an instruction may mean something that nest
    /// would miss.
    static let model = XMLRules(
        subject: "model",
        skipsInstructions: false,
        allowsUnknownPrefixes: false,
        depthMax: Limits.modelFileDepthMax
    )

    /// Whether an error of libxml2 is none by these rules.
    func allows(_ error: xmlError) -> Bool {
        self.allowsUnknownPrefixes && error.code == Int32(XML_NS_ERR_UNDEFINED_NAMESPACE.rawValue)
    }
}
