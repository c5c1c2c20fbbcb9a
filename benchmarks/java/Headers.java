import com.yahoo.labs.samoa.instances.Attribute;
import com.yahoo.labs.samoa.instances.Instances;
import com.yahoo.labs.samoa.instances.InstancesHeader;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** What both drivers need to read their files. */
final class Headers {
    private Headers() {}

    static DataInputStream open(String path) throws IOException {
        return new DataInputStream(new BufferedInputStream(new FileInputStream(path), 1 << 20));
    }

    /** A header of so many numeric attributes and a class of two values. */
    static InstancesHeader of(int width, String negative, String positive) {
        List<Attribute> attributes = new ArrayList<>();
        for (int j = 0; j < width; j++) {
            attributes.add(new Attribute("x" + j));
        }
        attributes.add(new Attribute("class", List.of(negative, positive)));
        Instances table = new Instances("rows", attributes, 0);
        table.setClassIndex(width);
        return new InstancesHeader(table);
    }
}
