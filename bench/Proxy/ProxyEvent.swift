/// Something that the proxy tells its log.
public enum ProxyEvent: Hashable, Sendable {
    case listening(port: Int)
    /// From now on connections suffer this.
    case phase(Faults)
    case opened(link: Int)
    case refused
    /// A break that the faults asked for, after so many bytes of that way.
    case broken(link: Int, Faults.Break, ProxyDirection, bytes: Int)
    /// The bytes that were forwarded each way.
    case closed(link: Int, toServer: Int, toClient: Int)

    /// One object on one line; `milliseconds` since the proxy began.
    public func json(milliseconds: Int) -> String {
        let fields =
            switch self {
            case .listening(let port): #""event":"listening","port":\#(port)"#
            case .phase(let faults): #""event":"phase","faults":"\#(faults)""#
            case .opened(let link): #""event":"opened","link":\#(link)"#
            case .refused: #""event":"refused""#
            case .broken(let link, let kind, let direction, let bytes):
                #""event":"\#(kind.rawValue)","link":\#(link),"direction":"\#(direction.rawValue)","bytes":\#(bytes)"#
            case .closed(let link, let toServer, let toClient):
                #""event":"closed","link":\#(link),"toServer":\#(toServer),"toClient":\#(toClient)"#
            }
        return #"{"milliseconds":\#(milliseconds),\#(fields)}"#
    }

    /// For people.
    public func text(milliseconds: Int) -> String {
        let what =
            switch self {
            case .listening(let port): "listening on 127.0.0.1:\(port)"
            case .phase(let faults): "now \(faults)"
            case .opened(let link): "connection \(link) opened"
            case .refused: "a connection was refused"
            case .broken(let link, let kind, let direction, let bytes):
                "connection \(link) \(kind.rawValue) after \(bytes) bytes \(direction.rawValue)"
            case .closed(let link, let toServer, let toClient):
                "connection \(link) closed: \(toServer) bytes to the server, \(toClient) to the client"
            }
        let thousandths = "\(1_000 + milliseconds % 1_000)".dropFirst()
        return "\(milliseconds / 1_000).\(thousandths) s  \(what)"
    }
}
